/* web_files_test.c - the page's own files are served, and nothing else of the disk is */
#include "tests/testing.h"

#include "services/signaling/web_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static void path_of(char path[128], const char *name)
{
    (void)snprintf(path, 128, "%s/%s", directory, name);
}

static void write_file(const char *name, const char *content)
{
    char path[128];
    path_of(path, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(content, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void remove_file(const char *name)
{
    char path[128];
    path_of(path, name);
    (void)remove(path);
}

static int make_directory(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof(directory), "/tmp/earshot_web_XXXXXX");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

static void files_are_found_by_exact_name_alone(void **state)
{
    (void)state;
    write_file("index.html", "<p>");
    write_file("app.js", "");
    write_file("secret.key", "s");
    write_file(".hidden.js", "s");
    struct fault fault = {0};
    struct web_files *w = web_files_load(directory, &fault);
    assert_non_null(w);

    const struct web_file *index = web_files_find(w, bytes_view_of_text("/"));
    assert_non_null(index);
    assert_ptr_equal(index, web_files_find(w, bytes_view_of_text("/index.html")));
    assert_string_equal(index->content_type, "text/html; charset=utf-8");
    assert_true(bytes_equal(index->content, bytes_view_of_text("<p>")));
    const struct web_file *script = web_files_find(w, bytes_view_of_text("/app.js"));
    assert_non_null(script);
    assert_int_equal(script->content.len, 0);

    static const char *const absent[] = {
        "",       "index.html", "//",        "//index.html",   "/APP.js",     "/app.js/",
        "/app.j", "/app.jsx",   "/./app.js", "/../etc/passwd", "/secret.key", "/.hidden.js"};
    for (size_t i = 0; i < COUNT_OF(absent); i++) {
        assert_null(web_files_find(w, bytes_view_of_text(absent[i])));
    }
    assert_null(web_files_find(w, bytes_view_of("/app.js\0", 8)));
    web_files_destroy(w);
    remove_file("index.html");
    remove_file("app.js");
    remove_file("secret.key");
    remove_file(".hidden.js");
}

static void links_out_of_the_directory_are_refused(void **state)
{
    (void)state;
    char path[128];
    path_of(path, "passwd.html");
    assert_int_equal(symlink("/etc/passwd", path), 0);
    struct fault fault = {0};
    assert_null(web_files_load(directory, &fault));
    assert_non_null(strstr(fault.text, "passwd.html"));
    remove_file("passwd.html");
}

static void a_file_above_the_limit_is_refused_and_one_on_it_is_not(void **state)
{
    (void)state;
    char path[128];
    path_of(path, "big.js");
    write_file("big.js", "");
    assert_int_equal(truncate(path, WEB_FILE_BYTES_MAX), 0);
    struct fault fault = {0};
    struct web_files *w = web_files_load(directory, &fault);
    assert_non_null(w);
    web_files_destroy(w);
    assert_int_equal(truncate(path, WEB_FILE_BYTES_MAX + 1), 0);
    assert_null(web_files_load(directory, &fault));
    assert_non_null(strstr(fault.text, "big.js"));
    remove_file("big.js");
}

static void a_missing_directory_is_named(void **state)
{
    (void)state;
    struct fault fault = {0};
    assert_null(web_files_load("/nonexistent/web", &fault));
    assert_non_null(strstr(fault.text, "/nonexistent/web"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_found_by_exact_name_alone),
        cmocka_unit_test(links_out_of_the_directory_are_refused),
        cmocka_unit_test(a_file_above_the_limit_is_refused_and_one_on_it_is_not),
        cmocka_unit_test(a_missing_directory_is_named),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
