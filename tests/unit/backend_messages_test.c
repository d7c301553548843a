/* backend_messages_test.c - chunks of a backend become messages, whatever comes between them */
#include "tests/testing.h"

#include "services/transceiver/core/session/backend_messages.h"

static struct backend_message message;

static enum backend_chunk_result hear(struct backend_messages *m, unsigned type, uint16_t flags,
                                      const void *payload, size_t len)
{
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .flags = flags,
                                        .utterance = 77,
                                        .payload = bytes_view_of(payload, len)};
    message = (struct backend_message){0};
    return backend_messages_input(m, &frame, &message);
}

static enum backend_chunk_result hear_text(struct backend_messages *m, unsigned type,
                                           uint16_t flags, const char *text)
{
    return hear(m, type, flags, text, strlen(text));
}

static void assert_is(const char *text)
{
    assert_true(bytes_equal(message.data, bytes_view_of_text(text)));
}

static void a_message_of_one_chunk_is_not_copied(void **state)
{
    static const char text[] = "{}";
    struct backend_messages m = {0};
    (void)state;
    assert_int_equal(hear(&m, BACKEND_EVENT, BACKEND_FLAG_LAST | BACKEND_EVENT_SIDEBAND, text, 2),
                     BACKEND_CHUNK_WHOLE);
    assert_ptr_equal(message.data.data, text);
    assert_true(message.is_event);
    assert_int_equal(message.utterance, 77);
    assert_true(message.flags & BACKEND_EVENT_SIDEBAND);
    backend_messages_clear(&m);
}

static void messages_of_both_types_may_come_interleaved(void **state)
{
    struct backend_messages m = {0};
    (void)state;
    assert_int_equal(hear_text(&m, BACKEND_EVENT, 0, "{\"a\":"), BACKEND_CHUNK_MORE);
    assert_int_equal(hear_text(&m, BACKEND_CHANNEL_DATA, 0, "{\"channel\":4,\"label\":\"chat\"}"),
                     BACKEND_CHUNK_MORE);
    assert_int_equal(hear_text(&m, BACKEND_CHANNEL_DATA, 0, "one "), BACKEND_CHUNK_MORE);
    backend_messages_release(&m); /* what was begun stays */
    assert_int_equal(hear_text(&m, BACKEND_EVENT, BACKEND_FLAG_LAST, "1}"), BACKEND_CHUNK_WHOLE);
    assert_is("{\"a\":1}");
    assert_null(message.channel);
    backend_messages_release(&m);
    assert_int_equal(hear_text(&m, BACKEND_CHANNEL_DATA, BACKEND_FLAG_LAST, "two"),
                     BACKEND_CHUNK_WHOLE);
    assert_is("one two");
    assert_false(message.is_event);
    assert_int_equal(message.channel->channel, 4);
    assert_string_equal(message.channel->label, "chat");
    backend_messages_clear(&m);
}

static void an_empty_message_is_one(void **state)
{
    struct backend_messages m = {0};
    (void)state;
    assert_int_equal(hear_text(&m, BACKEND_EVENT, BACKEND_FLAG_LAST, ""), BACKEND_CHUNK_WHOLE);
    assert_int_equal(message.data.len, 0);
    assert_int_equal(hear_text(&m, BACKEND_CHANNEL_DATA, 0, "{}"), BACKEND_CHUNK_MORE);
    assert_int_equal(hear_text(&m, BACKEND_CHANNEL_DATA, BACKEND_FLAG_LAST, ""),
                     BACKEND_CHUNK_WHOLE);
    assert_int_equal(message.data.len, 0);
    assert_non_null(message.channel);
    backend_messages_clear(&m);
}

/* Both sides of the bound; said once; what follows is a message again. */
static void one_byte_too_many_is_refused_once(void **state)
{
    static const uint8_t chunk[16384];
    (void)state;
    for (size_t over = 0; over <= 1; over++) {
        struct backend_messages m = {0};
        for (size_t sent = 0; sent < BACKEND_MESSAGE_BYTES_MAX; sent += sizeof(chunk)) {
            assert_int_equal(hear(&m, BACKEND_EVENT, 0, chunk, sizeof(chunk)), BACKEND_CHUNK_MORE);
        }
        assert_int_equal(hear(&m, BACKEND_EVENT, over != 0 ? 0 : BACKEND_FLAG_LAST, chunk, over),
                         over != 0 ? BACKEND_CHUNK_TOO_LONG : BACKEND_CHUNK_WHOLE);
        if (over != 0) {
            assert_int_equal(hear(&m, BACKEND_EVENT, 0, chunk, 100), BACKEND_CHUNK_MORE);
            assert_int_equal(hear(&m, BACKEND_EVENT, BACKEND_FLAG_LAST, chunk, 100),
                             BACKEND_CHUNK_MORE);
        } else {
            assert_int_equal(message.data.len, BACKEND_MESSAGE_BYTES_MAX);
        }
        assert_int_equal(hear_text(&m, BACKEND_EVENT, BACKEND_FLAG_LAST, "{}"),
                         BACKEND_CHUNK_WHOLE);
        assert_is("{}");
        backend_messages_clear(&m);
    }
}

static void data_without_its_header_is_nonsense(void **state)
{
    static const char *const header[] = {"", "no json", "[]", "{\"channel\":\"four\"}"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(header); i++) {
        struct backend_messages m = {0};
        assert_int_equal(hear_text(&m, BACKEND_CHANNEL_DATA, 0, header[i]),
                         BACKEND_CHUNK_BAD_HEADER);
        backend_messages_clear(&m);
    }
}

static void what_a_lost_connection_began_is_forgotten(void **state)
{
    struct backend_messages m = {0};
    (void)state;
    assert_int_equal(hear_text(&m, BACKEND_EVENT, 0, "lost"), BACKEND_CHUNK_MORE);
    backend_messages_clear(&m);
    assert_int_equal(hear_text(&m, BACKEND_EVENT, BACKEND_FLAG_LAST, "new"), BACKEND_CHUNK_WHOLE);
    assert_is("new");
    backend_messages_clear(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_of_one_chunk_is_not_copied),
        cmocka_unit_test(messages_of_both_types_may_come_interleaved),
        cmocka_unit_test(an_empty_message_is_one),
        cmocka_unit_test(one_byte_too_many_is_refused_once),
        cmocka_unit_test(data_without_its_header_is_nonsense),
        cmocka_unit_test(what_a_lost_connection_began_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
