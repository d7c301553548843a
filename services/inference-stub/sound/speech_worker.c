/* speech_worker.c - see speech_worker.h */
#include "services/inference-stub/sound/speech_worker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum pipe_end { PIPE_READ, PIPE_WRITE, PIPE_ENDS };

struct speech_job {
    struct speech_work work;
    struct sound *sound; /* NULL: not made yet, or none can be */
};

/* What goes through a pipe: who reads it owns the job. */
struct letter {
    struct speech_job *job;
};

struct speech_worker {
    struct speech_desk *desk;
    pthread_t thread;
    bool has_thread;
    bool is_busy;
    int work[PIPE_ENDS]; /* letters to the thread, and back */
    int made[PIPE_ENDS];
};

/* --- the thread ------------------------------------------------------------------------------- */

static void make(struct speech_job *job)
{
    struct fault fault = {0};
    struct pcm_view pcm;
    if (speech_synthesize(job->work.text, job->work.rate_hz, &pcm, &fault)) {
        job->sound = sound_create(pcm, job->work.rate_hz);
    }
}

/* NULL when there is none, or when the pipe is closed. */
static struct speech_job *read_letter(int fd)
{
    struct letter letter;
    ssize_t got;
    do {
        got = read(fd, &letter, sizeof(letter));
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(letter) ? letter.job : NULL;
}

/* A letter is less than PIPE_BUF: it is written whole or not at all. */
static bool write_letter(int fd, struct speech_job *job)
{
    const struct letter letter = {job};
    ssize_t sent;
    do {
        sent = write(fd, &letter, sizeof(letter));
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof(letter);
}

/* Ends when the pipe is closed. */
static void *run(void *argument)
{
    const struct speech_worker *w = argument;
    struct speech_job *job;
    while ((job = read_letter(w->work[PIPE_READ])) != NULL) {
        make(job);
        if (!write_letter(w->made[PIPE_WRITE], job)) {
            sound_destroy(job->sound);
            free(job);
        }
    }
    return NULL;
}

/* --- the caller's side ------------------------------------------------------------------------ */

static void close_end(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

struct speech_worker *speech_worker_open(struct speech_desk *desk, struct fault *fault)
{
    struct speech_worker *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "no memory for the voice");
        return NULL;
    }
    *w = (struct speech_worker){.desk = desk, .work = {-1, -1}, .made = {-1, -1}};
    if (pipe2(w->work, O_CLOEXEC) != 0 || pipe2(w->made, O_CLOEXEC) != 0 ||
        fcntl(w->made[PIPE_READ], F_SETFL, O_NONBLOCK) != 0) {
        (void)fault_set(fault, FAULT_SYSTEM, "pipe for the voice: %s", strerror(errno));
        speech_worker_close(w);
        return NULL;
    }
    const int error = pthread_create(&w->thread, NULL, run, w);
    if (error != 0) {
        (void)fault_set(fault, FAULT_SYSTEM, "thread for the voice: %s", strerror(error));
        speech_worker_close(w);
        return NULL;
    }
    w->has_thread = true;
    return w;
}

void speech_worker_close(struct speech_worker *w)
{
    if (w == NULL) {
        return;
    }
    close_end(&w->work[PIPE_WRITE]);
    if (w->has_thread) {
        (void)pthread_join(w->thread, NULL);
    }
    struct speech_job *job = w->made[PIPE_READ] < 0 ? NULL : read_letter(w->made[PIPE_READ]);
    if (job != NULL) {
        speech_desk_finish_work(w->desk, job->sound);
        free(job);
    }
    close_end(&w->work[PIPE_READ]);
    close_end(&w->made[PIPE_READ]);
    close_end(&w->made[PIPE_WRITE]);
    free(w);
}

int speech_worker_fd(const struct speech_worker *w)
{
    return w->made[PIPE_READ];
}

/* The pipe is empty while the thread has nothing to do, so that the write does not block. */
static void give_next(struct speech_worker *w)
{
    struct speech_work work;
    if (w->is_busy || !speech_desk_take_work(w->desk, &work)) {
        return;
    }
    struct speech_job *job = malloc(sizeof(*job));
    if (job != NULL) {
        *job = (struct speech_job){.work = work};
        w->is_busy = write_letter(w->work[PIPE_WRITE], job);
    }
    if (!w->is_busy) {
        free(job);
        speech_desk_finish_work(w->desk, NULL);
    }
}

bool speech_worker_serve(struct speech_worker *w)
{
    struct speech_job *job = w->is_busy ? read_letter(w->made[PIPE_READ]) : NULL;
    if (job != NULL) {
        w->is_busy = false;
        speech_desk_finish_work(w->desk, job->sound);
        free(job);
    }
    give_next(w);
    return job != NULL;
}
