/* shard_mailbox_test.c - a letter is taken once, and its sender waits for the answer */
#include "tests/testing.h"

#include "services/transceiver/port/shard_mailbox.h"

#include <poll.h>
#include <pthread.h>

#define LETTERS 1000

static void open_mailbox(struct shard_mailbox *m)
{
    struct fault fault = {0};
    *m = (struct shard_mailbox){.letter_fd = -1, .answer_fd = -1};
    assert_true(shard_mailbox_open(m, &fault));
}

static void an_empty_mailbox_gives_nothing_and_does_not_block(void **state)
{
    (void)state;
    struct shard_mailbox m;
    struct shard_letter letter;
    open_mailbox(&m);
    struct pollfd fd = {.fd = m.letter_fd, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_false(shard_mailbox_take(&m, &letter));
    shard_mailbox_close(&m);
}

/* A shard that writes one byte of each reply before it answers. */
static void *shard(void *context)
{
    struct shard_mailbox *m = context;
    struct shard_letter letter = {.kind = SHARD_LETTER_REQUEST};
    while (letter.kind != SHARD_LETTER_STOP) {
        struct pollfd fd = {.fd = m->letter_fd, .events = POLLIN};
        (void)poll(&fd, 1, -1);
        if (!shard_mailbox_take(m, &letter)) {
            continue;
        }
        if (letter.kind == SHARD_LETTER_REQUEST) {
            letter.reply->session_id = letter.request->request_id[0] + 1u;
        }
        shard_mailbox_answer(m);
    }
    return NULL;
}

static void every_letter_is_answered_before_send_returns(void **state)
{
    (void)state;
    struct shard_mailbox m;
    pthread_t thread;
    open_mailbox(&m);
    assert_int_equal(pthread_create(&thread, NULL, shard, &m), 0);
    for (int i = 0; i < LETTERS; i++) {
        const struct control_request request = {.request_id = {(uint8_t)i}};
        struct control_reply reply = {0};
        shard_mailbox_send(&m, &(struct shard_letter){.kind = SHARD_LETTER_REQUEST,
                                                      .request = &request,
                                                      .reply = &reply});
        assert_int_equal(reply.session_id, (uint8_t)i + 1);
    }
    shard_mailbox_send(&m, &(struct shard_letter){.kind = SHARD_LETTER_STOP});
    assert_int_equal(pthread_join(thread, NULL), 0);
    struct shard_letter letter;
    assert_false(shard_mailbox_take(&m, &letter)); /* each was taken once */
    shard_mailbox_close(&m);
}

static void closing_twice_is_harmless(void **state)
{
    (void)state;
    struct shard_mailbox m;
    open_mailbox(&m);
    shard_mailbox_close(&m);
    assert_int_equal(m.letter_fd, -1);
    shard_mailbox_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_mailbox_gives_nothing_and_does_not_block),
        cmocka_unit_test(every_letter_is_answered_before_send_returns),
        cmocka_unit_test(closing_twice_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
