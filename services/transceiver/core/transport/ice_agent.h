/*
 * ice_agent.h - the ICE-lite end of one session: answers checks, knows the paths, picks one
 *
 * Takes:   the client's STUN datagrams with the path they came by, and word of each SRTP packet or
 *          DTLS record that authenticated.
 * Gives:   answers (RFC 8445 s.7.3), the path to send to, events.
 * Order:   one change (input, note_authenticated, restart, tick), then drain events, then sleep
 *          until next_timeout.
 * Owns:    fixed memory made at create; passwords are kept only as HMAC pads, wiped at destroy.
 * Safety:  what does not authenticate gets no answer and changes nothing. A transaction id seen
 *          before changes nothing either. The path moves only by the three rules at
 *          ice_agent_selected.
 * Bounds:  the constants below; ICE_PATHS_MAX full: the path that authenticated longest ago goes,
 *          never the selected one; ICE_TRANSACTIONS_MAX full: the oldest goes; over the budget of
 *          checks: no answer.
 * Source:  RFC 8445, RFC 8489, RFC 8839; RFC 7675 turned round, since a lite agent sends no checks.
 * Not here: DTLS inside STUN (sped.h), making ufrags and passwords (session), candidates (sdp).
 */
#ifndef EARSHOT_ICE_AGENT_H
#define EARSHOT_ICE_AGENT_H

#include "common/base/time_us.h"
#include "common/stun/stun_message.h"
#include "services/transceiver/core/outbox.h"

#define ICE_UFRAG_CHARS_MAX     256 /* RFC 8839 s.5.4 */
#define ICE_OWN_UFRAG_CHARS_MAX 32  /* a routing token has 23 */
#define ICE_PATHS_MAX           8
#define ICE_TRANSACTIONS_MAX    64
#define ICE_REPEATS_MAX         2 /* answers to one transaction id after the first */

/* 100 checks a second in the long run. A browser sends one each 48 ms for each pair while it
 * connects. Only what is authentic and new counts: a stranger must not use up the client's. */
#define ICE_CHECK_INTERVAL_US (10 * US_PER_MS)
#define ICE_CHECK_BURST       200

/* How long a nominated path waits for silence on the selected one. */
#define ICE_SILENCE_US (500 * US_PER_MS)

/* RFC 7675 s.5.1: consent expires after 30 seconds. */
#define ICE_CONSENT_US (30 * US_PER_S)

/* How long the credentials before a restart are good, unless the new ones are used first. */
#define ICE_OLD_GENERATION_US (30 * US_PER_S)

/* One ICE generation: what the offer and the answer named. Texts end with a NUL. */
struct ice_credentials {
    const char *local_ufrag; /* the routing token, at most ICE_OWN_UFRAG_CHARS_MAX */
    const char *local_pwd;
    const char *remote_ufrag;
};

/* What became of a datagram: the index of a counter. */
enum ice_input_result {
    ICE_INPUT_ANSWER,       /* a new check: answer it */
    ICE_INPUT_ANSWER_AGAIN, /* a repeated check: answer it, nothing changed */
    ICE_INPUT_KEEPALIVE,    /* Binding indication (RFC 8445 s.11): nothing to do */
    ICE_INPUT_MALFORMED,    /* no STUN message */
    ICE_INPUT_NOT_REQUEST,  /* a response, or another method: we have asked nothing */
    ICE_INPUT_USERNAME,     /* of no generation of ours, or absent */
    ICE_INPUT_INTEGRITY,    /* MESSAGE-INTEGRITY wrong or absent */
    ICE_INPUT_FINGERPRINT,  /* FINGERPRINT wrong */
    ICE_INPUT_REPLAY,       /* a known transaction id from another source */
    ICE_INPUT_REPEATED,     /* a transaction id that has had all its answers */
    ICE_INPUT_BUDGET,       /* too many checks */
    ICE_INPUT_EXPIRED,      /* consent is gone, the session is over */
    ICE_INPUT_RESULT_COUNT
};

/* "integrity": the label of the counter. */
const char *ice_input_result_name(enum ice_input_result result);

struct hmac_sha1_key;

/* An authenticated check. Valid until the agent's next change, while its datagram lives. */
struct ice_check {
    struct stun_message request;
    struct net_path from; /* where the answer goes, whatever path is selected */
    uint16_t error_code;  /* what it is answered with; 0 = success */
    const struct hmac_sha1_key *password;
};

enum ice_event {
    ICE_EVENT_CONNECTED, /* the first check passed: there is a path */
    ICE_EVENT_MOVED,     /* another path is selected */
    ICE_EVENT_EXPIRED    /* nothing authentic for ICE_CONSENT_US: the session is over */
};

struct ice_agent;

/* NULL without memory. */
struct ice_agent *ice_agent_create(const struct ice_credentials *credentials, uint64_t now_us);
void ice_agent_destroy(struct ice_agent *agent);

/* *out_check is set on ICE_INPUT_ANSWER and ICE_INPUT_ANSWER_AGAIN. */
enum ice_input_result ice_agent_input(struct ice_agent *agent, struct bytes_view datagram,
                                      const struct net_path *from, struct ice_check *out_check,
                                      uint64_t now_us);

/* The answer in two steps, into an empty writer; between them, and only if error_code is 0,
 * attributes may be added (DTLS inside STUN). Without them it is never longer than the request. */
void ice_agent_begin_answer(const struct ice_check *check, struct byte_writer *w);
void ice_agent_finish_answer(const struct ice_check *check, struct byte_writer *w);

/* An SRTP packet or a DTLS record that came by this path has authenticated. is_newest: it is
 * newer than all before it, not merely inside the replay window. */
void ice_agent_note_authenticated(struct ice_agent *agent, const struct net_path *path,
                                  bool is_newest, uint64_t now_us);

/* Has the client's address passed a check of this session, or sent what moved the path to it? The
 * relay in between does not matter: it is authenticated by itself. */
bool ice_agent_is_validated(const struct ice_agent *agent, const struct net_path *path);

/* Where to send; false as long as, or as soon as, nothing may be sent. It moves
 *  (a) with the newest SRTP packet or DTLS record,
 *  (b) with a new nominated check, if nothing authentic came by the old path for ICE_SILENCE_US, or
 *      if it is the first nominated one after a restart,
 *  (c) with the first good check of all. */
MUST_USE bool ice_agent_selected(const struct ice_agent *agent, struct net_path *out);

/* When the last new and authentic datagram came; the time of create before that. */
uint64_t ice_agent_last_alive_us(const struct ice_agent *agent);

/* New credentials (RFC 8445 s.9). The ones before them stay good until a check with the new ones
 * passes, at most ICE_OLD_GENERATION_US. Two generations are good at a time: a restart before that
 * check replaces the unused new ones, and the old ones keep what is left of their time. The path
 * stays. */
void ice_agent_restart(struct ice_agent *agent, const struct ice_credentials *credentials,
                       uint64_t now_us);

void ice_agent_tick(struct ice_agent *agent, uint64_t now_us);
uint64_t ice_agent_next_timeout(const struct ice_agent *agent);
MUST_USE bool ice_agent_poll_event(struct ice_agent *agent, enum ice_event *out);

#endif
