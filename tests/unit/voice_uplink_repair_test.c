/* voice_uplink_repair_test.c - what the backend hears of a lost packet, and who may speak at all */
#include "tests/unit/uplink_world.h"

#include "services/transceiver/core/rtp/rtp_clock.h"

/* A packet as Chromium sends it when it was told of loss: the frame before is in it once more. */
static void make_fec(struct world *w)
{
    int16_t pcm[320];
    struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, 16000);
    voice_encoder_set_loss(e, 20);
    voice_encoder_set_fec(e, true);
    for (int n = 0; n < 50 && !voice_packet_has_fec(tone(w)); n++) {
        for (int i = 0; i < 320; i++) {
            pcm[i] = (int16_t)(i * (97 + n) % 16000 - 8000);
        }
        w->opus_bytes = voice_encoder_encode(e, pcm, w->opus);
    }
    voice_encoder_destroy(e);
    assert_true(voice_packet_has_fec(tone(w)));
}

static void a_red_copy_stands_for_a_lost_packet(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    assert_int_equal(speak_red(&w, 0), VOICE_UPLINK_TAKEN);
    assert_int_equal(speak_red(&w, 1), VOICE_UPLINK_TAKEN);
    assert_int_equal(speak_red(&w, 3), VOICE_UPLINK_TAKEN);
    expect(&w, 0, 0);
    expect(&w, 1, 0);
    const struct backend_frame copy = expect(&w, 2, BACKEND_AUDIO_RED);
    assert_int_equal(copy.payload.len, 640);
    assert_int_equal(copy.time_us, time_of(2) - START_US);
    expect(&w, 3, 0);
    const struct voice_uplink_quality q = voice_uplink_quality(w.uplink);
    assert_int_equal(q.red_us, 20000);
    assert_int_equal(q.concealed_us, 0);
    assert_int_equal(q.expected, 4);
    assert_int_equal(q.received, 3);
    assert_int_equal(voice_uplink_stats(w.uplink)->red_packets, 3);
    close_world(&w);
}

static void fec_stands_for_a_lost_packet(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    make_fec(&w);
    (void)speak(&w, 0);
    (void)speak(&w, 2);
    expect(&w, 0, 0);
    assert_int_equal(expect(&w, 1, BACKEND_AUDIO_FEC).payload.len, 640);
    expect(&w, 2, 0);
    assert_int_equal(voice_uplink_quality(w.uplink).fec_us, 20000);
    close_world(&w);
}

/* Two lost, one redundant block: nothing has to be invented. */
static void fec_in_a_red_copy_stands_for_the_packet_before_it(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    make_fec(&w);
    (void)speak_red(&w, 0);
    (void)speak_red(&w, 3);
    expect(&w, 0, 0);
    expect(&w, 1, BACKEND_AUDIO_FEC);
    expect(&w, 2, BACKEND_AUDIO_RED);
    expect(&w, 3, 0);
    close_world(&w);
}

static void a_malformed_packet_is_repaired_as_if_it_were_lost(void **state)
{
    (void)state;
    static const uint8_t garbage[] = {0x1b, 0x03, 1, 2};
    struct world w;
    open_world(&w, RATE_KHZ);
    (void)speak_red(&w, 0);
    assert_int_equal(input(&w, 1, 1, bytes_view_of(garbage, sizeof(garbage)), OPUS),
                     VOICE_UPLINK_MALFORMED);
    (void)speak_red(&w, 2);
    expect(&w, 0, 0);
    expect(&w, 1, BACKEND_AUDIO_RED);
    expect(&w, 2, 0);
    close_world(&w);
}

static void loss_never_closes_up_nor_becomes_zeros(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 48);
    uint64_t heard = 0;
    for (uint32_t slot = 0; slot < 1000; slot++) {
        if (slot == 0 || slot == 999 || slot * 7919 % 10 >= 2) {
            (void)speak(&w, slot);
        }
        struct backend_frame frame;
        while (next_voice(&w, &frame)) {
            assert_int_equal(frame.utterance, (uint32_t)(FIRST_TIME + heard));
            assert_int_equal(frame.time_us, BEGIN_US - START_US + rtp_clock_to_us(heard));
            assert_int_equal(frame.payload.len, 2 * 960);
            int sum = 0;
            for (size_t i = 0; i < frame.payload.len; i++) {
                sum += frame.payload.data[i] != 0;
            }
            assert_true(sum > 960);
            heard += frame.payload.len / 2;
        }
        forget_frames(&w);
    }
    assert_int_equal(heard, 1000 * 960);
    assert_true(voice_uplink_stats(w.uplink)->concealed > 150);
    close_world(&w);
}

/* No reordering was seen: the gap costs the time to the next packet. */
static void one_lost_packet_makes_the_others_wait_for_nothing(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    for (uint32_t slot = 0; slot < 200; slot++) {
        if (slot % 10 == 5) {
            continue;
        }
        (void)speak(&w, slot);
        if (slot % 10 == 6) {
            const struct backend_frame lost = expect(&w, slot - 1, BACKEND_AUDIO_CONCEALED);
            const uint64_t wait_us = time_of(slot) - START_US - lost.time_us;
            assert_true(wait_us <= SLOT_US + 2 * US_PER_MS);
        }
        expect(&w, slot, 0); /* in the turn in which it came */
        outbox_frames_end(&w.frames);
    }
    close_world(&w);
}

/* --- who speaks --------------------------------------------------------------------------------*/

static struct rtp_packet with_extension(struct rtp_packet p, uint8_t id, struct bytes_view value,
                                        uint8_t room[32])
{
    memset(room, 0, 32);
    room[0] = (uint8_t)((unsigned)id << 4 | (value.len - 1));
    memcpy(room + 1, value.data, value.len);
    p.extension_profile = 0xbede;
    p.extension = bytes_view_of(room, 32);
    return p;
}

static void a_packet_of_another_section_is_not_heard(void **state)
{
    (void)state;
    struct world w;
    uint8_t room[32];
    open_world(&w, RATE_KHZ);
    static const struct {
        const char *mid;
        enum voice_uplink_result result;
    } c[] = {{"voice", VOICE_UPLINK_TAKEN},
             {"video", VOICE_UPLINK_OTHER_MID},
             {"voic", VOICE_UPLINK_OTHER_MID},
             {"voices", VOICE_UPLINK_OTHER_MID}};
    for (uint32_t i = 0; i < COUNT_OF(c); i++) {
        const struct rtp_packet p = with_extension(packet_of(&w, i, i, tone(&w), OPUS), MID_ID,
                                                   bytes_view_of_text(c[i].mid), room);
        assert_int_equal(voice_uplink_input(w.uplink, &p, time_of(i)), c[i].result);
    }
    expect(&w, 0, 0);
    close_world(&w);
}

static void the_level_is_the_clients_word(void **state)
{
    (void)state;
    struct world w;
    uint8_t room[32];
    open_world(&w, RATE_KHZ);
    assert_int_equal(voice_uplink_quality(w.uplink).level_dbov, -127);
    static const struct {
        uint8_t value;
        int level_dbov;
    } c[] = {{0x00, 0}, {0x80, 0}, {0x80 | 30, -30}, {30, -30}, {127, -127}};
    for (uint32_t i = 0; i < COUNT_OF(c); i++) {
        const struct rtp_packet p = with_extension(packet_of(&w, i, i, tone(&w), OPUS), LEVEL_ID,
                                                   bytes_view_of(&c[i].value, 1), room);
        (void)voice_uplink_input(w.uplink, &p, time_of(i));
        assert_int_equal(voice_uplink_quality(w.uplink).level_dbov, c[i].level_dbov);
    }
    forget_frames(&w);
    close_world(&w);
}

static void an_unknown_payload_type_does_not_take_over_the_call(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    (void)speak(&w, 0);
    w.ssrc = SSRC + 7; /* a video track, say */
    assert_int_equal(input(&w, 1, 500, tone(&w), 96), VOICE_UPLINK_UNKNOWN_PAYLOAD);
    w.ssrc = SSRC;
    assert_int_equal(speak(&w, 1), VOICE_UPLINK_TAKEN);
    expect(&w, 0, 0);
    expect(&w, 1, 0);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_red_copy_stands_for_a_lost_packet),
        cmocka_unit_test(fec_stands_for_a_lost_packet),
        cmocka_unit_test(fec_in_a_red_copy_stands_for_the_packet_before_it),
        cmocka_unit_test(a_malformed_packet_is_repaired_as_if_it_were_lost),
        cmocka_unit_test(loss_never_closes_up_nor_becomes_zeros),
        cmocka_unit_test(one_lost_packet_makes_the_others_wait_for_nothing),
        cmocka_unit_test(a_packet_of_another_section_is_not_heard),
        cmocka_unit_test(the_level_is_the_clients_word),
        cmocka_unit_test(an_unknown_payload_type_does_not_take_over_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
