/* evp_methods_test.c - the methods are there, fetched once, and what fails is named at the end */
#include "tests/testing.h"

#include "common/crypto/evp_methods.h"

#include <openssl/kdf.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

static void each_method_is_the_one_that_its_name_says(void **state)
{
    (void)state;
    const struct evp_methods *m = evp_methods();
    const struct {
        const EVP_CIPHER *cipher;
        const char *name;
        int key_bytes;
    } cipher_case[] = {
        {m->aes_128_ecb, "AES-128-ECB", 16},
        {m->aes_128_gcm, "AES-128-GCM", 16},
        {m->aes_256_gcm, "AES-256-GCM", 32},
    };
    for (size_t i = 0; i < sizeof(cipher_case) / sizeof(cipher_case[0]); i++) {
        assert_true(EVP_CIPHER_is_a(cipher_case[i].cipher, cipher_case[i].name));
        assert_int_equal(EVP_CIPHER_get_key_length(cipher_case[i].cipher),
                         cipher_case[i].key_bytes);
    }
    assert_true(EVP_MD_is_a(m->sha256, "SHA256"));
    assert_true(EVP_KDF_is_a(m->hkdf, "HKDF"));
}

static void *fetch_on_a_thread(void *out)
{
    *(struct evp_methods *)out = *evp_methods();
    return NULL;
}

static void every_call_on_every_thread_gives_the_methods_of_the_first_fetch(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    struct evp_methods seen[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, fetch_on_a_thread, &seen[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_memory_equal(&seen[i], evp_methods(), sizeof(seen[i]));
    }
}

/* With such properties asked for, libcrypto finds nothing: a second fetch would end the test. */
static void after_the_first_call_nothing_is_fetched_again(void **state)
{
    (void)state;
    const struct evp_methods *first = evp_methods();
    const struct evp_methods before = *first;
    assert_int_equal(EVP_set_default_properties(NULL, "provider=none"), 1);
    assert_null(EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL));
    assert_ptr_equal(evp_methods(), first);
    assert_int_equal(EVP_set_default_properties(NULL, ""), 1);
    assert_memory_equal(first, &before, sizeof(before));
}

static void what_worked_does_not_end_the_process(void **state)
{
    (void)state;
    evp_require(true, "nothing");
}

static void what_failed_ends_the_process_with_one_line_that_names_it(void **state)
{
    (void)state;
    int pipe_fd[2];
    char line[64] = "";
    int status = 0;
    assert_int_equal(pipe(pipe_fd), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL); /* cmocka has its own */
        (void)dup2(pipe_fd[1], STDERR_FILENO);
        evp_require(false, "the test");
        _exit(0);
    }
    (void)close(pipe_fd[1]);
    const ssize_t len = read(pipe_fd[0], line, sizeof(line) - 1);
    (void)close(pipe_fd[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_true(len > 0);
    assert_string_equal(line, "libcrypto: the test failed\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_on_every_thread_gives_the_methods_of_the_first_fetch),
        cmocka_unit_test(each_method_is_the_one_that_its_name_says),
        cmocka_unit_test(after_the_first_call_nothing_is_fetched_again),
        cmocka_unit_test(what_worked_does_not_end_the_process),
        cmocka_unit_test(what_failed_ends_the_process_with_one_line_that_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
