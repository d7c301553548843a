/*
 * sim_data.h - the data channels of a simulated client: our own SCTP as the other end, and DCEP
 *
 * It opens channels as a browser does: DATA_CHANNEL_OPEN, messages behind it at once, a reset of
 * its side when either closes. Streams are even for a DTLS client, odd for a server (RFC 8832 s.6).
 */
#ifndef EARSHOT_SIM_DATA_H
#define EARSHOT_SIM_DATA_H

#include "common/base/random.h"
#include "services/transceiver/core/transport/sctp/sctp_association.h"

#define SIM_DATA_STREAMS      512
#define SIM_DATA_CHANNELS_MAX 256

enum sim_data_state {
    SIM_DATA_NONE,
    SIM_DATA_OPENING, /* OPEN is said */
    SIM_DATA_OPEN,    /* and was acknowledged */
    SIM_DATA_CLOSING, /* our side is reset */
    SIM_DATA_CLOSED   /* both are */
};

/* One that came. */
struct sim_data_message {
    uint16_t stream;
    uint32_t ppid;
    struct bytes_view data; /* borrowed until the next take */
};

struct sim_data;

struct sim_data *sim_data_create(struct random_source random, bool is_dtls_client, uint64_t now_us);
void sim_data_destroy(struct sim_data *d);

/* DTLS is connected: INIT. */
void sim_data_start(struct sim_data *d, uint64_t now_us);
void sim_data_input(struct sim_data *d, struct bytes_view packet, uint64_t now_us);
void sim_data_tick(struct sim_data *d, uint64_t now_us);
uint64_t sim_data_next_timeout(const struct sim_data *d);
MUST_USE bool sim_data_poll_packet(struct sim_data *d, struct bytes_view *out, uint64_t now_us);

/* A new channel, ordered and reliable; its stream. Also before SCTP is connected. */
uint16_t sim_data_open(struct sim_data *d, const char *label, uint64_t now_us);
void sim_data_close(struct sim_data *d, uint16_t stream, uint64_t now_us);
enum sim_data_state sim_data_state(const struct sim_data *d, uint16_t stream);
/* False: not now. An empty one is said with the identifier for it. */
bool sim_data_send(struct sim_data *d, uint16_t stream, bool is_text, struct bytes_view data,
                   uint64_t now_us);
/* Reads nothing, or goes on. */
void sim_data_set_reading(struct sim_data *d, bool is_reading);
MUST_USE bool sim_data_take(struct sim_data *d, struct sim_data_message *out);
/* The association was closed, by either side. */
bool sim_data_is_ended(const struct sim_data *d);
size_t sim_data_buffered_bytes(const struct sim_data *d);
struct sctp_association *sim_data_sctp(struct sim_data *d);

#endif
