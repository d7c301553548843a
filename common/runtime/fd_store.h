/*
 * fd_store.h - descriptors that a supervisor keeps while the process is away
 *
 * The protocol of systemd's file descriptor store, which other supervisors may speak too: what is
 * put there under a name is handed to the next process of the service, also after a kill -9.
 * Takes:   NOTIFY_SOCKET, LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES of the environment, once: they
 *          are removed from it.
 * Gives:   each kept descriptor once, by its name; close-on-exec, and the caller's from then on.
 * Owns:    those that nobody took.
 * Bounds:  FD_STORE_MAX kept descriptors; what is more is closed. A supervisor that does not read
 *          for FD_STORE_PATIENCE_MS is told nothing more.
 * Fails:   without a supervisor every call does nothing: nothing is kept, put says false; and so
 *          once a supervisor was given up (is_lost). What was put is not acknowledged; a store
 *          that is full or switched off keeps it not, and the next process finds less.
 * Threads: one, at the start of the process.
 * Source:  sd_notify(3), sd_pid_notify_with_fds(3), sd_listen_fds(3).
 */
#ifndef EARSHOT_FD_STORE_H
#define EARSHOT_FD_STORE_H

#include "common/base/bytes.h"

#define FD_STORE_MAX         512
#define FD_STORE_NAME_CAP    32 /* longer names are nobody's of ours */
#define FD_STORE_PATIENCE_MS 2000

struct fd_store_entry {
    char name[FD_STORE_NAME_CAP];
    int fd; /* -1: taken */
};

struct fd_store {
    int notify_fd; /* connected to the supervisor; -1: there is none */
    bool is_lost;  /* there was one, and it could not be told something */
    struct fd_store_entry kept[FD_STORE_MAX];
    size_t kept_count;
};

/* False when the environment names a supervisor that can not be reached; the store then is as one
 * without a supervisor. */
MUST_USE bool fd_store_open(struct fd_store *s);
/* Closes what nobody took; the supervisor keeps its copies. */
void fd_store_close(struct fd_store *s);
/* Is there a supervisor that listens? */
bool fd_store_is_there(const struct fd_store *s);

/* The descriptor of this name, or -1. Of several, which a lost removal may leave, the first: the
 * others are discarded. */
int fd_store_take(struct fd_store *s, const char *name);
/* The supervisor keeps a copy from now on; the descriptor stays the caller's. */
bool fd_store_put(struct fd_store *s, const char *name, int fd);
/* The supervisor closes its copies of this name. */
void fd_store_forget(struct fd_store *s, const char *name);
/* Closes a descriptor that was taken, and the supervisor forgets it, with all copies of the name. A
 * UDP socket gets no datagram any more from now on, whether or not the supervisor heard. */
void fd_store_discard(struct fd_store *s, const char *name, int fd);
/* Discards what nobody took; returns how many. */
size_t fd_store_forget_rest(struct fd_store *s);
/* The process has started (Type=notify). */
void fd_store_say_ready(struct fd_store *s);

#endif
