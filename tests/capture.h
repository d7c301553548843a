/* capture.h - what a call prints on stdout and stderr, as one text */
#ifndef EARSHOT_TESTS_CAPTURE_H
#define EARSHOT_TESTS_CAPTURE_H

#include "tests/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct capture {
    int saved[2]; /* stdout and stderr */
    int end;
    char text[8192]; /* after capture_end */
};

/* At most a pipe's 64 KB may be printed before capture_end. */
static inline void capture_begin(struct capture *c)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)fflush(stdout);
    c->saved[0] = dup(STDOUT_FILENO);
    c->saved[1] = dup(STDERR_FILENO);
    (void)dup2(ends[1], STDOUT_FILENO);
    (void)dup2(ends[1], STDERR_FILENO);
    (void)close(ends[1]);
    c->end = ends[0];
}

static inline void capture_end(struct capture *c)
{
    (void)fflush(stdout);
    (void)dup2(c->saved[0], STDOUT_FILENO);
    (void)dup2(c->saved[1], STDERR_FILENO);
    (void)close(c->saved[0]);
    (void)close(c->saved[1]);
    const ssize_t len = read(c->end, c->text, sizeof(c->text) - 1);
    c->text[len > 0 ? len : 0] = '\0';
    (void)close(c->end);
}

#endif
