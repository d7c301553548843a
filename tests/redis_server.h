/*
 * redis_server.h - a real redis-server on a free port of loopback, for one test
 *
 * Nothing of it is kept on disk. Without the program the test is skipped, with a line that says so.
 */
#ifndef EARSHOT_TESTS_REDIS_SERVER_H
#define EARSHOT_TESTS_REDIS_SERVER_H

#include "tests/testing.h"

#include "common/runtime/clock.h"
#include "tests/free_port.h"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define REDIS_SERVER_PATH        "/usr/bin/redis-server"
#define REDIS_SERVER_PATIENCE_US (20 * US_PER_S)

struct redis_server {
    uint16_t port;
    pid_t pid;
    const char *password; /* NULL = none */
};

/* One command as an operator would give it. The reply is the caller's to free; NULL when the server
 * does not answer. */
static inline redisReply *redis_server_ask(const struct redis_server *s, const char *command)
{
    const struct timeval patience = {.tv_sec = 5};
    redisReply *reply = NULL;
    redisContext *link = redisConnectWithTimeout("127.0.0.1", s->port, patience);
    if (link != NULL && link->err == 0 && redisSetTimeout(link, patience) == REDIS_OK) {
        if (s->password != NULL) {
            freeReplyObject(redisCommand(link, "AUTH %s", s->password));
        }
        reply = (redisReply *)redisCommand(link, command);
    }
    redisFree(link);
    return reply;
}

/* A command that has to succeed. */
static inline void redis_server_tell(const struct redis_server *s, const char *command)
{
    redisReply *reply = redis_server_ask(s, command);
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        fail_msg("redis: %s: %s", command, reply == NULL ? "no answer" : reply->str);
    }
    freeReplyObject(reply);
}

static inline bool redis_server_answers(const struct redis_server *s)
{
    redisReply *reply = redis_server_ask(s, "PING");
    const bool is_good = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return is_good;
}

static inline void redis_server_exec(const struct redis_server *s)
{
    char port[8];
    const int null = open("/dev/null", O_RDWR);
    (void)snprintf(port, sizeof(port), "%u", s->port);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(null, STDERR_FILENO);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test dies */
    (void)execl(REDIS_SERVER_PATH, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save",
                "", "--appendonly", "no", "--dir", "/tmp", "--requirepass",
                s->password == NULL ? "" : s->password, (char *)NULL);
    _exit(127);
}

/* On the port it has, empty; returns when it answers. */
static inline void redis_server_start(struct redis_server *s)
{
    const uint64_t until_us = clock_now_us() + REDIS_SERVER_PATIENCE_US;
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        redis_server_exec(s);
    }
    while (!redis_server_answers(s)) {
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 5);
    }
}

/* Skips the test where there is no redis-server. password: NULL for none. */
static inline void redis_server_open(struct redis_server *s, const char *password)
{
    if (access(REDIS_SERVER_PATH, X_OK) != 0) {
        print_message("skipped: %s is not installed\n", REDIS_SERVER_PATH);
        skip();
    }
    *s = (struct redis_server){.port = free_port(SOCK_STREAM), .password = password};
    redis_server_start(s);
}

static inline void redis_server_signal(const struct redis_server *s, int number)
{
    assert_int_equal(kill(s->pid, number), 0);
}

/* As a machine that fails: no word to anybody. */
static inline void redis_server_kill(struct redis_server *s)
{
    if (s->pid > 0) {
        (void)kill(s->pid, SIGKILL);
        (void)waitpid(s->pid, NULL, 0);
    }
    s->pid = 0;
}

#endif
