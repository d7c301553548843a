/*
 * relay_soak.c - the relay at 80 % of what it can, for long: every datagram is accounted for
 *
 *   relay_soak [--seconds N]
 *
 * Six seconds of the relay, two of a loop that copies at 80 % of what that can: the control, which
 * shows what the machine itself lets fall. What each end sent and received, what the relay says of
 * it and what the kernel dropped at each socket must add up to the last datagram, and memory must
 * stay what it was after a tenth of the time. Prints JSON lines; 1 when something is not as it
 * should be.
 */
#include "tests/bench/own_network.h"
#include "tests/bench/relay_stand.h"
#include "tests/bench/udp_drops.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NS_PER_S               UINT64_C(1000000000)
#define SECONDS_DEFAULT        600
#define SECONDS_MAX            86400
#define RELAY_SLICE_S          6
#define CONTROL_SLICE_S        2
#define SHARE                  0.8
#define CLIENTS                1000
#define METRICS_CAP            65536
#define MEDIA_PORT             6000
#define INTERNAL_PORTS         16
#define GROWTH_MAX             1.02
#define DROPS_PER_MILLION_FREE 10 /* of a machine that does something else for a moment */

enum stand { RELAY, CONTROL, STANDS };

static const struct relay_stand_config stand_config[STANDS] = {
    [RELAY] = {.kind = RELAY_STAND_RELAY, .clients = CLIENTS},
    [CONTROL] = {.kind = RELAY_STAND_COPY_LOOP, .clients = CLIENTS},
};

/* What the relay and the kernel say, since they began. */
struct account {
    uint64_t up_received; /* by the relay */
    uint64_t up_forwarded;
    uint64_t down_received;
    uint64_t down_forwarded;
    uint64_t dropped_at_listen;
    uint64_t dropped_at_media;
    uint64_t dropped_at_internal;
    uint64_t dropped_at_clients;
};

static struct relay_stand stand[STANDS];
static struct relay_load *load;
static bool is_good = true;

/* --- what is asked ---------------------------------------------------------------------------- */

static struct account read_account(void)
{
    static char text[METRICS_CAP];
    const struct load_target *t = &stand[RELAY].target;
    const bool is_told = relay_process_metrics(&stand[RELAY].relay, text, sizeof(text));
    assert(is_told);
#define DATAGRAMS "earshot_relay_datagrams_total{direction="
    return (struct account){
        .up_received = relay_process_sum(text, DATAGRAMS "\"up\""),
        .up_forwarded = relay_process_sum(text, DATAGRAMS "\"up\",verdict=\"flow\"}"),
        .down_received = relay_process_sum(text, DATAGRAMS "\"down\""),
        .down_forwarded = relay_process_sum(text, DATAGRAMS "\"down\",verdict=\"shim\"}"),
        .dropped_at_listen = udp_drops(t->listen.port, t->listen.port),
        .dropped_at_media = udp_drops(MEDIA_PORT, MEDIA_PORT),
        .dropped_at_internal =
            udp_drops(t->internal.port, (uint16_t)(t->internal.port + INTERNAL_PORTS - 1)),
        .dropped_at_clients = udp_drops(LOAD_CLIENT_PORT, LOAD_CLIENT_PORT),
    };
#undef DATAGRAMS
}

static uint64_t resident_kb(pid_t pid)
{
    char path[32];
    unsigned long pages = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    const bool is_read = file != NULL && fscanf(file, "%*u %lu", &pages) == 1;
    assert(is_read);
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* --- slices ----------------------------------------------------------------------------------- */

/* Round trips a second at SHARE of the capacity. */
static uint32_t rate_of(enum stand which)
{
    static struct relay_burst burst;
    const struct load_burst full = {.way = LOAD_BOTH_WAYS, .duration_ns = NS_PER_S};
    relay_stand_burst(&stand[which], load, &full, &burst);
    return (uint32_t)(SHARE * 1e9 / (2 * burst.ns));
}

static void add(struct load_figures *sum, const struct load_figures *f)
{
    sum->up_sent += f->up_sent;
    sum->up_received += f->up_received;
    sum->down_sent += f->down_sent;
    sum->down_received += f->down_received;
    sum->wrong += f->wrong;
    sum->taken_ns += f->taken_ns;
}

static double slice(enum stand which, uint32_t rate_hz, uint64_t seconds, struct load_figures *sum)
{
    static struct relay_burst burst;
    const struct load_burst b = {.way = LOAD_BOTH_WAYS,
                                 .duration_ns = seconds * NS_PER_S,
                                 .rate_hz = rate_hz,
                                 .rests = true};
    relay_stand_burst(&stand[which], load, &b, &burst);
    add(sum, &burst.figures);
    return burst.busy;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void say(const char *figure, const char *unit, double value, const char *goal, bool is_met)
{
    printf("{\"bench\":\"relay_soak\",\"figure\":\"%s\",\"unit\":\"%s\",\"value\":%.3f", figure,
           unit, value);
    if (goal != NULL) {
        printf(",\"goal\":\"%s\",\"is_met\":%s", goal, is_met ? "true" : "false");
        is_good = is_good && is_met;
    }
    puts("}");
    (void)fflush(stdout);
}

/* Datagrams of this leg that nobody can account for. Where trains arrive, one drop is a train. */
static void say_leg(const char *leg, int64_t lost, uint64_t drops, bool has_trains)
{
    const int64_t least = (int64_t)drops;
    const int64_t most = has_trains ? least * LOAD_BATCH : least;
    const int64_t unaccounted = lost < least ? lost - least : lost > most ? lost - most : 0;
    say(leg, "unaccounted", (double)unaccounted, "0", unaccounted == 0);
}

static void say_account(const struct load_figures *f, const struct account *from,
                        const struct account *to)
{
    const struct account now = {
        .up_received = to->up_received - from->up_received,
        .up_forwarded = to->up_forwarded - from->up_forwarded,
        .down_received = to->down_received - from->down_received,
        .down_forwarded = to->down_forwarded - from->down_forwarded,
        .dropped_at_listen = to->dropped_at_listen - from->dropped_at_listen,
        .dropped_at_media = to->dropped_at_media - from->dropped_at_media,
        .dropped_at_internal = to->dropped_at_internal - from->dropped_at_internal,
        .dropped_at_clients = to->dropped_at_clients - from->dropped_at_clients,
    };
    const struct {
        const char *leg;
        uint64_t sent;
        uint64_t received;
        uint64_t drops;
        bool has_trains;
    } leg[] = {
        {"clients_to_relay", f->up_sent, now.up_received, now.dropped_at_listen, false},
        {"inside_up", now.up_received, now.up_forwarded, 0, false},
        {"relay_to_transceiver", now.up_forwarded, f->up_received, now.dropped_at_media, true},
        {"transceiver_to_relay", f->down_sent, now.down_received, now.dropped_at_internal, true},
        {"inside_down", now.down_received, now.down_forwarded, 0, false},
        {"relay_to_clients", now.down_forwarded, f->down_received, now.dropped_at_clients, false},
    };
    for (size_t i = 0; i < COUNT_OF(leg); i++) {
        say_leg(leg[i].leg, (int64_t)leg[i].sent - (int64_t)leg[i].received, leg[i].drops,
                leg[i].has_trains);
    }
    say("drops", "at_all_sockets",
        (double)(now.dropped_at_listen + now.dropped_at_media + now.dropped_at_internal +
                 now.dropped_at_clients),
        NULL, true);
}

static double lost_per_million(const struct load_figures *f)
{
    return 1e6 * (double)(f->up_sent - f->down_received) / (double)f->up_sent;
}

/* --- a run ------------------------------------------------------------------------------------ */

static void soak(uint64_t seconds)
{
    static struct load_figures relayed;
    static struct load_figures copied;
    const uint32_t relay_hz = rate_of(RELAY);
    const uint32_t control_hz = rate_of(CONTROL);
    uint64_t early_kb = 0;
    double busy = 0;
    relay_stand_prepare(&stand[RELAY], load);
    const struct account from = read_account();
    for (uint64_t done = 0; done < seconds; done += RELAY_SLICE_S) {
        const uint64_t left = seconds - done;
        busy = slice(RELAY, relay_hz, left < RELAY_SLICE_S ? left : RELAY_SLICE_S, &relayed);
        (void)slice(CONTROL, control_hz, CONTROL_SLICE_S, &copied);
        if (early_kb == 0 && (done + RELAY_SLICE_S) * 10 >= seconds) {
            early_kb = resident_kb(stand[RELAY].pid);
        }
    }
    relay_stand_prepare(&stand[RELAY], load);
    const struct account to = read_account();
    const uint64_t late_kb = resident_kb(stand[RELAY].pid);
    say("rate", "round_trips_per_s", relay_hz, NULL, true);
    say("reached", "round_trips_per_s", (double)relayed.up_sent * 1e9 / (double)relayed.taken_ns,
        NULL, true);
    say("busy", "share_of_core", busy, NULL, true);
    say("round_trips", "count", (double)relayed.up_sent, NULL, true);
    say("wrong", "count", (double)relayed.wrong, "0", relayed.wrong == 0);
    say_account(&relayed, &from, &to);
    const double control = lost_per_million(&copied);
    say("control_lost", "per_million", control, NULL, true);
    say("lost", "per_million", lost_per_million(&relayed), "the control's, and 10",
        lost_per_million(&relayed) <= control + DROPS_PER_MILLION_FREE);
    say("memory_early", "kb", (double)early_kb, NULL, true);
    say("memory_late", "kb", (double)late_kb, "2 % above the early one",
        (double)late_kb <= GROWTH_MAX * (double)early_kb);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static bool start_all(const char *folder, struct fault *fault)
{
    struct net_addr media;
    const bool is_address = net_addr_parse(RELAY_STAND_MEDIA, &media);
    assert(is_address);
    load =
        relay_load_open(&media, key_ring_from_secret(RELAY_PROCESS_KEY_ID, relay_process_secret));
    for (unsigned i = 0; i < STANDS; i++) {
        if (!relay_stand_start(&stand[i], &stand_config[i], folder, i, fault)) {
            return false;
        }
    }
    return true;
}

static bool read_options(int argc, char **argv, uint64_t *seconds)
{
    char *end = NULL;
    *seconds = SECONDS_DEFAULT;
    if (argc == 1) {
        return true;
    }
    if (argc == 3 && strcmp(argv[1], "--seconds") == 0) {
        *seconds = strtoull(argv[2], &end, 10);
    }
    return end != NULL && *end == '\0' && *seconds >= 1 && *seconds <= SECONDS_MAX;
}

int main(int argc, char **argv)
{
    struct fault fault = {0};
    uint64_t seconds = 0;
    char folder[] = "/tmp/earshot-relay-soak-XXXXXX";
    if (!read_options(argc, argv, &seconds)) {
        fprintf(stderr, "usage: relay_soak [--seconds 1..%d]\n", SECONDS_MAX);
        return 2;
    }
    if (!own_network_enter(&fault) || mkdtemp(folder) == NULL) {
        fprintf(stderr, "relay_soak: %s\n", fault.text);
        return 1;
    }
    const bool is_started = start_all(folder, &fault);
    if (is_started) {
        soak(seconds);
    } else {
        fprintf(stderr, "relay_soak: %s\n", fault.text);
    }
    for (unsigned i = 0; i < STANDS; i++) {
        relay_stand_stop(&stand[i]);
    }
    relay_load_close(load);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return is_started && is_good ? 0 : 1;
}
