/* control_arena_test.c - pieces are aligned, apart, and end where the block ends */
#include "tests/testing.h"

#include "common/control/control_arena.h"

static void pieces_are_aligned_and_do_not_overlap(void **state)
{
    (void)state;
    struct control_arena *a = control_arena_create(4096);
    uint8_t *last_end = NULL;
    for (size_t bytes = 0; bytes < 40; bytes++) {
        uint8_t *piece = control_arena_take(a, bytes);
        assert_non_null(piece);
        assert_int_equal((uintptr_t)piece % _Alignof(max_align_t), 0);
        assert_true(piece > last_end);
        memset(piece, 0xff, bytes);
        last_end = piece + bytes;
    }
    control_arena_destroy(a);
}

static void a_piece_knows_the_size_it_was_taken_with(void **state)
{
    (void)state;
    struct control_arena *a = control_arena_create(256);
    const uint8_t *first = control_arena_take(a, 5);
    const uint8_t *empty = control_arena_take(a, 0);
    const uint8_t elsewhere = 0;
    assert_int_equal(control_arena_piece_bytes(a, first), 5);
    assert_int_equal(control_arena_piece_bytes(a, empty), 0);
    assert_int_equal(control_arena_piece_bytes(a, &elsewhere), 0);
    assert_int_equal(control_arena_piece_bytes(a, NULL), 0);
    control_arena_destroy(a);
}

static void a_full_arena_refuses_and_a_reset_one_gives_again(void **state)
{
    (void)state;
    struct control_arena *a = control_arena_create(1024);
    assert_null(control_arena_take(a, 1024)); /* the piece's header needs room too */
    assert_null(control_arena_take(a, SIZE_MAX));
    assert_non_null(control_arena_take(a, 1024 - sizeof(max_align_t)));
    assert_null(control_arena_take(a, 0));
    control_arena_reset(a);
    assert_non_null(control_arena_take(a, 100));
    control_arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_do_not_overlap),
        cmocka_unit_test(a_piece_knows_the_size_it_was_taken_with),
        cmocka_unit_test(a_full_arena_refuses_and_a_reset_one_gives_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
