/* stub_link_fuzz.c - a transceiver that says anything: raw bytes, or frames with good numbers and
 * any content; a frame of type BREAK is none: the connection breaks, and another greets. The link
 * ends or goes on, its output within bounds */
#include "common/runtime/log.h"
#include "services/inference-stub/session_shelf.h"
#include "services/inference-stub/stub_link.h"

#include <assert.h>
#include <stdlib.h>

static const struct agent_script *agent_script(void)
{
    static struct agent_script script;
    struct fault fault;
    if (script.count_max == 0 && !agent_script_load("", &script, &fault)) {
        abort();
    }
    (void)strcpy(script.phrase[AGENT_PHRASE_GREETING], "Hello.");
    return &script;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HANDLES 4
#define BREAK   0xfe

static int16_t greeting[1600];
static struct stub_counters counters;

struct peer {
    struct stub_behaviour behaviour;
    struct session_shelf shelf;
    struct random_generator random;
    struct stub_link *link;
    uint64_t now_us;
    uint32_t sequence[HANDLES];
};

static void give(struct peer *p, struct bytes_view bytes)
{
    while (bytes.len > 0) {
        const struct bytes_span room = stub_link_reserve(p->link);
        assert(room.cap > 0);
        const size_t len = bytes.len < room.cap ? bytes.len : room.cap;
        memcpy(room.data, bytes.data, len);
        stub_link_commit(p->link, len, p->now_us);
        bytes = bytes_view_of(bytes.data + len, bytes.len - len);
    }
}

static void give_frame(struct peer *p, struct backend_frame frame)
{
    uint8_t header[BACKEND_FRAME_HEADER_BYTES];
    frame.sequence = p->sequence[frame.session]++;
    backend_frame_encode_header(&frame, header);
    give(p, bytes_view_of(header, sizeof(header)));
    give(p, frame.payload);
}

static void connect_link(struct peer *p)
{
    memset(p->sequence, 0, sizeof(p->sequence));
    p->link = stub_link_create(&p->behaviour, "fuzz", p->now_us);
    assert(p->link != NULL);
}

static void greet(struct peer *p)
{
    give_frame(p,
               (struct backend_frame){.type = BACKEND_HELLO, .payload = bytes_view_of_text("{}")});
}

static void reconnect(struct peer *p)
{
    stub_link_peer_closed(p->link);
    stub_link_shelve(p->link, p->now_us);
    stub_link_destroy(p->link);
    connect_link(p);
    greet(p);
}

/* A frame of 4 bytes and a payload: type, handle and codec, flags, length. */
static void give_scripted_frame(struct peer *p, struct byte_reader *script)
{
    struct backend_frame frame = {.type = byte_reader_u8(script)};
    const uint8_t mixed = byte_reader_u8(script);
    const uint8_t flags = byte_reader_u8(script);
    const size_t len = byte_reader_u8(script);
    frame.session = mixed % HANDLES;
    frame.codec = mixed / HANDLES % 4;
    frame.rate_khz = (mixed & 0x40) != 0 ? 16 : 24;
    frame.channels = 1;
    frame.duration_2500us = mixed;
    frame.flags = (uint16_t)(flags | (flags & 1) << 8);
    const size_t left = byte_reader_left(script);
    frame.payload = byte_reader_bytes(script, len < left ? len : left);
    if (frame.type == BREAK) {
        reconnect(p);
    } else {
        give_frame(p, frame);
    }
}

/* Reads some of the output, as a slow peer does. */
static void take(struct peer *p, size_t len_max)
{
    const struct bytes_view output = stub_link_output(p->link, p->now_us);
    assert(output.len <= LINK_OUTPUT_BYTES);
    stub_link_sent(p->link, output.len < len_max ? output.len : len_max, p->now_us);
}

/* What the thread of a voice does. */
static void make_speech(struct peer *p)
{
    struct speech_work work;
    while (p->behaviour.desk != NULL && speech_desk_take_work(p->behaviour.desk, &work)) {
        int16_t *samples = calloc(1600, sizeof(*samples));
        speech_desk_finish_work(p->behaviour.desk,
                                sound_create((struct pcm_view){samples, 1600}, work.rate_hz));
        stub_link_wake(p->link, p->now_us);
    }
}

static void pass_time(struct peer *p, uint64_t us)
{
    p->now_us += us;
    make_speech(p);
    stub_link_tick(p->link, p->now_us);
    assert(stub_link_is_over(p->link) || stub_link_next_timeout(p->link) > p->now_us);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct peer p;
    struct byte_reader script;
    log_set_level(LOG_ERROR);
    byte_reader_init(&script, bytes_view_of(data, size));
    const uint8_t start = byte_reader_u8(&script);
    p = (struct peer){.now_us = 1,
                      .behaviour = {.mode = (enum dialogue_mode)(start % 3),
                                    .mode_name = "fuzz",
                                    .tone_hz = 1000,
                                    .greeting_16k = {greeting, 1600},
                                    .greeting_24k = {greeting, 1600},
                                    .sessions_max = HANDLES,
                                    .shelf = &p.shelf,
                                    .counters = &counters}};
    session_shelf_init(&p.shelf);
    if ((start & 0x40) != 0) {
        p.behaviour.script = agent_script();
        p.behaviour.desk = speech_desk_create();
        random_generator_init(&p.random, 1);
        p.behaviour.random = random_seeded(&p.random);
    }
    connect_link(&p);
    if ((start & 0x80) != 0) {
        give(&p, byte_reader_bytes(&script, byte_reader_left(&script)));
    } else {
        greet(&p);
    }
    while (byte_reader_left(&script) >= 4) {
        give_scripted_frame(&p, &script);
        take(&p, 20000);
        pass_time(&p, 20 * US_PER_MS);
    }
    take(&p, SIZE_MAX);
    pass_time(&p, 20 * US_PER_S);
    assert(stub_link_is_over(p.link) || stub_link_is_finished(p.link) ||
           stub_link_output(p.link, p.now_us).len > 0);
    stub_link_destroy(p.link);
    session_shelf_clear(&p.shelf);
    speech_desk_destroy(p.behaviour.desk);
    assert(metric_get(&counters.sessions_open) == 0);
    return 0;
}
