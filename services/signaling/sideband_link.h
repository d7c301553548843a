/*
 * sideband_link.h - to one transceiver: the events of its calls, and requests about side-bands
 *
 * Takes:   what the transceiver announced; calls to hear of.
 * Gives:   events of those calls; outcomes of requests.
 * Owns:    a SUB socket that dials its events URL, a session_client of its own, their watches.
 * Fails:   open with a fault for URLs that are not tcp://, or none.
 * Threads: one, with http_server.
 */
#ifndef EARSHOT_SIDEBAND_LINK_H
#define EARSHOT_SIDEBAND_LINK_H

#include "common/control/control_event.h"
#include "services/signaling/http_server.h"
#include "services/signaling/session_client.h"

struct sideband_link;

/* tag: of its events; the next one is that of its replies. */
struct sideband_link *sideband_link_open(const struct control_announcement *said,
                                         struct http_server *loop, size_t tag, struct fault *fault);
/* At the end of the process also with a request under way: then a part of it is left as it is. */
void sideband_link_close(struct sideband_link *l);
/* Nothing is under way: NNG 1.5 may wait for ever in the close of a socket with a request. */
bool sideband_link_may_close(const struct sideband_link *l);

uint32_t sideband_link_instance(const struct sideband_link *l);
/* Whoever publishes there has us on its list. */
bool sideband_link_is_connected(const struct sideband_link *l);
MUST_USE bool sideband_link_hear_call(struct sideband_link *l, const char *call_id);
void sideband_link_forget_call(struct sideband_link *l, const char *call_id);

void sideband_link_readable(struct sideband_link *l, bool is_reply);
MUST_USE bool sideband_link_submit(struct sideband_link *l, uint64_t ticket,
                                   const struct control_request *request, uint64_t deadline_us);
/* Each false when there is nothing more. What *out borrows is valid until the next call of either,
 * with the same decoder. */
MUST_USE bool sideband_link_next_event(struct sideband_link *l, struct control_decoder *decoder,
                                       struct control_sideband_event *out);
MUST_USE bool sideband_link_next_outcome(struct sideband_link *l, struct control_decoder *decoder,
                                         struct session_outcome *out, uint64_t now_us);
uint64_t sideband_link_next_timeout(const struct sideband_link *l);

#endif
