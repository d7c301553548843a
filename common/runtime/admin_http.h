/*
 * admin_http.h - /metrics, /healthz, /readyz, /version on a port for operators
 *
 * A thread of its own (libwebsockets), GET only, one answer a connection.
 * Liveness:  every loop that was added ticked within 2 s; the body lists each, one a line.
 * Readiness: every condition holds; the body lists each as `name: yes` or `name: no`, one a line.
 * Bounds:    8 connections, the ninth is closed at once; 2 s from accept to the end of the answer.
 * Fails:     start with a fault that names the address.
 * Note:      start sets libwebsockets' log to silent, for the whole process.
 */
#ifndef EARSHOT_ADMIN_HTTP_H
#define EARSHOT_ADMIN_HTTP_H

#include "common/base/net_addr.h"
#include "common/base/status.h"
#include "common/runtime/metrics.h"

/* A loop proves that it lives by setting its beat to clock_now_us() at least each second. */
#define ADMIN_LOOPS_MAX 80
/* name must outlive the process's admin port; at most 48 characters are shown. */
metric_value *admin_http_add_loop(const char *name);

/* Conditions of readiness: 0 or 1, set by the service. Starts at 0. */
#define ADMIN_CONDITIONS_MAX 16
metric_value *admin_http_add_condition(const char *name);

/* After the loops and conditions were added. Fails when the address is taken. */
MUST_USE bool admin_http_start(const char *service, const struct net_addr *listen,
                               struct fault *fault);
/* Fine when nothing was started. */
void admin_http_stop(void);

#endif
