/* base64url_test.c - RFC 4648: its vectors, and one spelling for each value */
#include "tests/testing.h"

#include "services/signaling/access/base64url.h"

/* RFC 4648 s.10, without padding. */
static const struct {
    const char *bytes;
    const char *text;
} vector_case[] = {{"", ""},           {"f", "Zg"},          {"fo", "Zm8"},         {"foo", "Zm9v"},
                   {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}};

static void the_vectors_of_the_rfc_hold_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vector_case); i++) {
        char text[16] = "";
        uint8_t bytes[16];
        const size_t len = strlen(vector_case[i].bytes);
        const size_t chars = strlen(vector_case[i].text);
        assert_int_equal(BASE64URL_CHARS(len), chars);
        base64url_encode(bytes_view_of_text(vector_case[i].bytes), text);
        assert_string_equal(text, vector_case[i].text);
        assert_int_equal(BASE64URL_BYTES(chars), len);
        assert_true(base64url_decode(bytes_view_of_text(vector_case[i].text), bytes));
        assert_memory_equal(bytes, vector_case[i].bytes, len);
    }
}

static void the_alphabet_is_that_of_urls(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0xfb, 0xff, 0xbe};
    char text[5] = "";
    base64url_encode(bytes_view_of(bytes, sizeof(bytes)), text);
    assert_string_equal(text, "-_--");
    for (unsigned c = 0; c < 256; c++) {
        const int value = base64url_value((uint8_t)c);
        assert_true(value < 0 || base64url_digit((uint8_t)value) == (char)c);
    }
}

static void another_spelling_does_not_decode(void **state)
{
    (void)state;
    static const char *const bad[] = {"Zg==", "Zh",   "Zm9",  "Z", "Zm9vY",
                                      "Zm+v", "Zm/v", "Zm9 ", "\n"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        uint8_t bytes[8];
        assert_false(base64url_decode(bytes_view_of_text(bad[i]), bytes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_rfc_hold_both_ways),
        cmocka_unit_test(the_alphabet_is_that_of_urls),
        cmocka_unit_test(another_spelling_does_not_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
