/*
 * admin_http.h - /metrics, /healthz, /readyz, /version on a port for operators
 *
 * A thread of its own (libwebsockets), GET only, 8 connections, 2 s deadline. Liveness = every loop
 * that was registered ticked within 2 s. Readiness = every condition holds; the body lists each,
 * one a line.
 */
#ifndef EARSHOT_ADMIN_HTTP_H
#define EARSHOT_ADMIN_HTTP_H

#include "common/base/net_addr.h"
#include "common/base/status.h"
#include "common/runtime/metrics.h"

/* A loop proves that it lives by setting its beat to clock_now_us() at least each second. */
#define ADMIN_LOOPS_MAX 80
metric_value *admin_http_add_loop(const char *name);

/* Conditions of readiness: 0 or 1, set by the service. Starts at 0. */
#define ADMIN_CONDITIONS_MAX 16
metric_value *admin_http_add_condition(const char *name);

/* After the loops and conditions were added. Fails when the address is taken. */
MUST_USE bool admin_http_start(const char *service, const struct net_addr *listen,
                               struct fault *fault);
void admin_http_stop(void);

#endif
