/* backend_kill_test.c - kill -9 of the voice agent in a reply: the call lives and sounds again
 *
 * A real shard, the real stub as a process of its own, and a simulated browser that talks to the
 * shard through shims, on loopback and in real time. Argument: the folder of programs.
 */
#include "tests/testing.h"

#include "tests/loopback_shard.h"
#include "tests/support/sim_client.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#define TURN_US      (2 * US_PER_MS)
#define CLIENT       "203.0.113.9:40000"
#define BACK_US      US_PER_S          /* a call sounds again this long after its agent is back */
#define GAP_US       (100 * US_PER_MS) /* between two packets, on a machine with other work */
#define CONNECT_US   (10 * US_PER_S)
#define SOUND_IS_NOW (60 * US_PER_MS)

static const char *programs;

struct world {
    struct loopback_shard shard;
    struct sim_client *client;
    uint32_t session_id;
    char folder[64];
    char config[128];
    char program[512];
    pid_t stub;
};

/* --- the stub --------------------------------------------------------------------------------- */

static void write_config(struct world *w)
{
    const struct net_addr admin = far_end_free_address(SOCK_STREAM);
    char admin_text[NET_ADDR_TEXT_CAP];
    (void)snprintf(w->config, sizeof(w->config), "%s/stub.yaml", w->folder);
    FILE *file = fopen(w->config, "w");
    assert_non_null(file);
    (void)fprintf(file, "listen: %s\nadmin_listen: %s\nmode: tone\n", w->shard.config.backend,
                  net_addr_format(&admin, admin_text, sizeof(admin_text)));
    assert_int_equal(fclose(file), 0);
}

static void start_stub(struct world *w)
{
    w->stub = fork();
    assert_true(w->stub >= 0);
    if (w->stub == 0) {
        (void)execl(w->program, w->program, "--config", w->config, (char *)NULL);
        _exit(127);
    }
}

static void kill_stub(struct world *w)
{
    int status = 0;
    if (w->stub > 0) {
        assert_int_equal(kill(w->stub, SIGKILL), 0);
        assert_int_equal(waitpid(w->stub, &status, 0), w->stub);
        w->stub = 0;
    }
}

/* --- the way between client and shard --------------------------------------------------------- */

static void to_shard(struct world *w, struct bytes_view datagram)
{
    uint8_t packet[RELAY_SHIM_BYTES + SIM_CLIENT_PACKET_CAP];
    struct sockaddr_storage to;
    struct relay_shim shim = {.instance_id = LOOPBACK_SHARD_INSTANCE,
                              .session_id = w->session_id,
                              .datagram_bytes = (uint16_t)datagram.len};
    assert_true(net_addr_parse(CLIENT, &shim.client));
    relay_shim_write(w->shard.ring, &shim, packet);
    memcpy(packet + RELAY_SHIM_BYTES, datagram.data, datagram.len);
    const socklen_t to_len = net_addr_to_sockaddr(&w->shard.loop_config.media_address, &to);
    (void)sendto(w->shard.relay, packet, RELAY_SHIM_BYTES + datagram.len, 0,
                 (const struct sockaddr *)&to, to_len);
}

static void from_shard(struct world *w, uint64_t now_us)
{
    uint8_t packet[2048];
    struct relay_shim shim;
    ssize_t len = 0;
    while ((len = recv(w->shard.relay, packet, sizeof(packet), MSG_DONTWAIT)) > 0) {
        const struct bytes_view view = bytes_view_of(packet, (size_t)len);
        assert_int_equal(relay_shim_read(w->shard.ring, view, &shim), RELAY_SHIM_OK);
        sim_client_input(w->client, bytes_view_of(packet + RELAY_SHIM_BYTES, shim.datagram_bytes),
                         now_us);
    }
}

static void drain_client(struct world *w)
{
    uint8_t datagram[SIM_CLIENT_PACKET_CAP];
    struct net_addr from;
    struct net_addr to;
    size_t len = 0;
    while ((len = sim_client_take(w->client, datagram, &from, &to)) > 0) {
        to_shard(w, bytes_view_of(datagram, len));
    }
}

static void run_for(struct world *w, uint64_t us)
{
    const uint64_t until_us = clock_now_us() + us;
    uint64_t now_us = 0;
    while ((now_us = clock_now_us()) < until_us) {
        struct pollfd fd = {.fd = w->shard.relay, .events = POLLIN};
        const uint64_t next_us = time_earlier(sim_client_next_timeout(w->client), now_us + TURN_US);
        (void)poll(&fd, 1, (int)((time_since(now_us, next_us) + 999) / US_PER_MS));
        now_us = clock_now_us();
        from_shard(w, now_us);
        sim_client_tick(w->client, now_us);
        drain_client(w);
    }
}

static bool sounds(const struct world *w)
{
    const uint64_t heard_us = sim_client_heard(w->client)->latest_sound_us;
    return heard_us > 0 && time_since(heard_us, clock_now_us()) < SOUND_IS_NOW;
}

/* --- life ------------------------------------------------------------------------------------- */

static void place_call(struct world *w)
{
    struct control_request request = loopback_shard_create_request("rtc_kill");
    struct control_create_session *create = &request.body.create_session;
    struct control_reply reply;
    create->offer_sdp = bytes_view_of_text(sim_client_offer(w->client));
    assert_true(net_addr_parse("198.51.100.1:3478", &create->ingress[0].address));
    create->ingress_count = 1;
    event_loop_call(w->shard.loop, &request, &reply);
    assert_int_equal(reply.refusal, CONTROL_REFUSAL_NONE);
    w->session_id = reply.session_id;
    assert_true(sim_client_answer(w->client, reply.answer_sdp, clock_now_us()));
}

static void open_world(struct world *w)
{
    struct fault fault = {0};
    const struct net_addr backend = far_end_free_address(SOCK_STREAM);
    *w = (struct world){.folder = "/tmp/backend_kill_test.XXXXXX"};
    loopback_shard_prepare(&w->shard);
    (void)net_addr_format(&backend, w->shard.config.backend, sizeof(w->shard.config.backend));
    assert_non_null(mkdtemp(w->folder));
    (void)snprintf(w->program, sizeof(w->program), "%s/earshot-inference-stub", programs);
    write_config(w);
    start_stub(w);
    w->shard.loop = event_loop_create(&w->shard.loop_config, &fault);
    assert_true(w->shard.loop != NULL && event_loop_start(w->shard.loop, &fault));
    loopback_shard_wait_for(&event_loop_backend(w->shard.loop)->is_up, 1);
    struct sim_client_config config = {.seed = 1};
    assert_true(net_addr_parse(CLIENT, &config.address));
    w->client = sim_client_create(&config);
    place_call(w);
    const uint64_t until_us = clock_now_us() + CONNECT_US;
    while (!sounds(w)) {
        assert_true(clock_now_us() < until_us);
        run_for(w, 20 * US_PER_MS);
    }
}

static void close_world(struct world *w)
{
    loopback_shard_close(&w->shard);
    kill_stub(w);
    sim_client_destroy(w->client);
    (void)unlink(w->config);
    (void)rmdir(w->folder);
}

static void a_call_lives_through_kill_9_of_its_agent_and_sounds_again(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const metric_value *restarts = &event_loop_calls(w.shard.loop)->backend_restarts;
    for (uint64_t kills = 1; kills <= 2; kills++) {
        run_for(&w, US_PER_S);
        const uint64_t gap_before_us = sim_client_heard(w.client)->gap_us_max;
        kill_stub(&w);
        run_for(&w, US_PER_S);
        assert_int_equal(metric_get(&event_loop_calls(w.shard.loop)->sessions_active), 1);
        start_stub(&w);
        const uint64_t back_us = clock_now_us();
        while (metric_get(restarts) < kills) {
            assert_true(clock_now_us() < back_us + BACK_US);
            run_for(&w, TURN_US);
        }
        /* What sounds now is of the new one: what was queued is gone, and its tail too. */
        run_for(&w, SOUND_IS_NOW);
        while (!sounds(&w)) {
            assert_true(clock_now_us() < back_us + BACK_US);
            run_for(&w, TURN_US);
        }
        print_message("sounds again %llu ms after it was started\n",
                      (unsigned long long)((clock_now_us() - back_us) / US_PER_MS));
        const uint64_t gap_us = sim_client_heard(w.client)->gap_us_max;
        assert_true(gap_us == gap_before_us || gap_us < GAP_US); /* packets never stopped */
    }
    close_world(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_lives_through_kill_9_of_its_agent_and_sounds_again),
    };
    programs = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, loopback_shard_begin, loopback_shard_end);
}
