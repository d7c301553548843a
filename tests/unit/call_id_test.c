/* call_id_test.c - an id has one spelling, one owner, and tells nothing without the key */
#include "tests/testing.h"

#include "services/signaling/call_id.h"

static struct key_ring *ring;

static int open_ring(void **state)
{
    (void)state;
    uint8_t secret[KEY_RING_SECRET_BYTES];
    for (size_t i = 0; i < sizeof(secret); i++) {
        secret[i] = (uint8_t)i;
    }
    ring = key_ring_from_secret(7, secret);
    return ring != NULL ? 0 : -1;
}

static int close_ring(void **state)
{
    (void)state;
    key_ring_destroy(ring);
    return 0;
}

/* The random bytes of the golden vector stand behind the six that the ids overwrite. */
static void fill_golden(void *context, uint8_t *out, size_t len)
{
    (void)context;
    assert_int_equal(len, CALL_ID_BLOCK_BYTES);
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)(0xa0 + i - 6);
    }
}

static const struct call_id golden = {.cluster_id = 1, .instance_id = 0x5eed0001};
static const char golden_text[] = "rtc_H0-PHtjQYoeTQjD284teUfQ";

/* docs/wire-formats.md, section 6. */
static void the_golden_vector_holds(void **state)
{
    (void)state;
    struct call_id_sealed sealed;
    call_id_seal(ring, &golden, (struct random_source){fill_golden, NULL}, &sealed);
    assert_string_equal(sealed.text, golden_text);
    struct call_id opened;
    assert_true(call_id_open(ring, bytes_view_of_text(golden_text), &opened));
    assert_int_equal(opened.cluster_id, 1);
    assert_int_equal(opened.instance_id, 0x5eed0001);
}

static void two_ids_of_one_instance_differ(void **state)
{
    (void)state;
    struct random_generator generator;
    random_generator_init(&generator, 1);
    struct call_id_sealed a;
    struct call_id_sealed b;
    call_id_seal(ring, &golden, random_seeded(&generator), &a);
    call_id_seal(ring, &golden, random_seeded(&generator), &b);
    assert_string_not_equal(a.text, b.text);
    assert_memory_not_equal(a.block, b.block, sizeof(a.block));
}

static void a_thousand_ids_come_back_as_they_were(void **state)
{
    (void)state;
    struct random_generator generator;
    random_generator_init(&generator, 2);
    for (uint32_t i = 0; i < 1000; i++) {
        const struct call_id id = {.cluster_id = (uint16_t)(i * 67), .instance_id = i * 4294967};
        struct call_id_sealed sealed;
        struct call_id opened;
        call_id_seal(ring, &id, random_seeded(&generator), &sealed);
        assert_int_equal(strlen(sealed.text), CALL_ID_CHARS);
        assert_true(call_id_open(ring, bytes_view_of_text(sealed.text), &opened));
        assert_int_equal(opened.cluster_id, id.cluster_id);
        assert_int_equal(opened.instance_id, id.instance_id);
    }
}

static void any_other_form_is_no_id(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "rtc_",
        "rtc_H0-PHtjQYoeTQjD284teUf",   /* short */
        "rtc_H0-PHtjQYoeTQjD284teUfQQ", /* long */
        "RTC_H0-PHtjQYoeTQjD284teUfQ",  /* prefix */
        "rtc_H0-PHtjQYoeTQjD284teUfR",  /* a spare bit */
        "rtc_H0-PHtjQYoeTQjD284teUf=",  /* padding */
        "rtc_H0+PHtjQYoeTQjD284teUfQ",  /* the other base64 */
        "rtc_H0/PHtjQYoeTQjD284teUfQ",
        "rtc_I0-PHtjQYoeTQjD284teUfQ", /* a key that the ring does not have */
        "rtc_=0-PHtjQYoeTQjD284teUfQ", /* no key id */
    };
    struct call_id opened;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(call_id_open(ring, bytes_view_of_text(bad[i]), &opened));
    }
    char with_nul[CALL_ID_CHARS + 1];
    memcpy(with_nul, golden_text, sizeof(with_nul));
    with_nul[10] = '\0';
    assert_false(call_id_open(ring, bytes_view_of(with_nul, CALL_ID_CHARS), &opened));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_vector_holds),
        cmocka_unit_test(two_ids_of_one_instance_differ),
        cmocka_unit_test(a_thousand_ids_come_back_as_they_were),
        cmocka_unit_test(any_other_form_is_no_id),
    };
    return cmocka_run_group_tests(tests, open_ring, close_ring);
}
