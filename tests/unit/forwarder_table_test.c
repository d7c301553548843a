/* forwarder_table_test.c - every cell of the flow table of docs/wire-formats.md, section 4 */
#include "tests/unit/forwarder_world.h"

enum before { NO_FLOW, HALF_OPEN, ACTIVE, SILENT };

enum event {
    REQUEST_OF_A,  /* uplink STUN Binding request, token valid: the owner's */
    REQUEST_OF_B,  /* the same, another session's */
    BAD_REQUEST,   /* uplink STUN, token invalid */
    ANYTHING_ELSE, /* uplink anything else */
    DOWNLINK_OF_A, /* downlink shim, tag valid, of the flow's own session */
    DOWNLINK_OF_B, /* the same, of another session */
    NOTHING        /* time passes */
};

enum owner { NOBODY, A, B };

/* Flows belong to session A before the event. ACTIVE and SILENT are confirmed flows, whose owner
 * sent last a moment less than 3 s ago, or 3 s ago. */
static const struct cell {
    enum before before;
    enum event event;
    enum forward_reason reason;
    enum owner to; /* whose shard an uplink goes to, or who a downlink came from */
    enum flow_state after;
    enum owner owner; /* of the flow, after */
    bool refreshed;   /* its life started again */
} cell[] = {
    {NO_FLOW, REQUEST_OF_A, FORWARD_UP_TOKEN, A, FLOW_HALF_OPEN, A, true},
    {NO_FLOW, REQUEST_OF_B, FORWARD_UP_TOKEN, B, FLOW_HALF_OPEN, B, true},
    {HALF_OPEN, REQUEST_OF_A, FORWARD_UP_TOKEN, A, FLOW_HALF_OPEN, A, true},
    {HALF_OPEN, REQUEST_OF_B, FORWARD_UP_TOKEN, B, FLOW_HALF_OPEN, B, true},
    {ACTIVE, REQUEST_OF_A, FORWARD_UP_TOKEN, A, FLOW_CONFIRMED, A, true},
    {ACTIVE, REQUEST_OF_B, FORWARD_UP_TOKEN, B, FLOW_CONFIRMED, A, false},
    {SILENT, REQUEST_OF_A, FORWARD_UP_TOKEN, A, FLOW_CONFIRMED, A, true},
    {SILENT, REQUEST_OF_B, FORWARD_UP_TOKEN, B, FLOW_HALF_OPEN, B, true},

    {NO_FLOW, BAD_REQUEST, FORWARD_UP_TOKEN_FORGED, NOBODY, FLOW_FREE, NOBODY, false},
    {HALF_OPEN, BAD_REQUEST, FORWARD_UP_TOKEN_FORGED, NOBODY, FLOW_HALF_OPEN, A, false},
    {ACTIVE, BAD_REQUEST, FORWARD_UP_TOKEN_FORGED, NOBODY, FLOW_CONFIRMED, A, false},
    {SILENT, BAD_REQUEST, FORWARD_UP_TOKEN_FORGED, NOBODY, FLOW_CONFIRMED, A, false},

    {NO_FLOW, ANYTHING_ELSE, FORWARD_UP_NO_FLOW, NOBODY, FLOW_FREE, NOBODY, false},
    {HALF_OPEN, ANYTHING_ELSE, FORWARD_UP_FLOW, A, FLOW_HALF_OPEN, A, false},
    {ACTIVE, ANYTHING_ELSE, FORWARD_UP_FLOW, A, FLOW_CONFIRMED, A, false},
    {SILENT, ANYTHING_ELSE, FORWARD_UP_FLOW, A, FLOW_CONFIRMED, A, false},

    {NO_FLOW, DOWNLINK_OF_A, FORWARD_DOWN_SHIM, A, FLOW_CONFIRMED, A, true},
    {HALF_OPEN, DOWNLINK_OF_A, FORWARD_DOWN_SHIM, A, FLOW_CONFIRMED, A, true},
    {ACTIVE, DOWNLINK_OF_A, FORWARD_DOWN_SHIM, A, FLOW_CONFIRMED, A, true},
    {SILENT, DOWNLINK_OF_A, FORWARD_DOWN_SHIM, A, FLOW_CONFIRMED, A, true},

    {NO_FLOW, DOWNLINK_OF_B, FORWARD_DOWN_SHIM, B, FLOW_CONFIRMED, B, true},
    {HALF_OPEN, DOWNLINK_OF_B, FORWARD_DOWN_SHIM, B, FLOW_CONFIRMED, B, true},
    {ACTIVE, DOWNLINK_OF_B, FORWARD_DOWN_SHIM, B, FLOW_CONFIRMED, A, false},
    {SILENT, DOWNLINK_OF_B, FORWARD_DOWN_SHIM, B, FLOW_CONFIRMED, B, true},

    {NO_FLOW, NOTHING, FORWARD_REASON_COUNT, NOBODY, FLOW_FREE, NOBODY, false},
    {HALF_OPEN, NOTHING, FORWARD_REASON_COUNT, NOBODY, FLOW_HALF_OPEN, A, false},
    {ACTIVE, NOTHING, FORWARD_REASON_COUNT, NOBODY, FLOW_CONFIRMED, A, false},
    {SILENT, NOTHING, FORWARD_REASON_COUNT, NOBODY, FLOW_CONFIRMED, A, false},
};

static void prepare(struct world *w, enum before before)
{
    if (before != NO_FLOW) {
        assert_int_equal(from_client(w, CLIENT, request(w, owner_a)).reason, FORWARD_UP_TOKEN);
    }
    if (before == ACTIVE || before == SILENT) {
        assert_int_equal(downlink(w, owner_a, CLIENT).reason, FORWARD_DOWN_SHIM);
    }
    w->now_us += before == ACTIVE ? FORWARDER_OWNER_KEEPS_US - 1 : FORWARDER_OWNER_KEEPS_US;
}

static struct verdict happen(struct world *w, enum event event)
{
    switch (event) {
    case REQUEST_OF_A:
        return from_client(w, CLIENT, request(w, owner_a));
    case REQUEST_OF_B:
        return from_client(w, CLIENT, request(w, owner_b));
    case BAD_REQUEST:
        return from_client(w, CLIENT, request_of(w, "HAAAAAAAAAAAAAAAAAAAAAA:peer", 28));
    case ANYTHING_ELSE:
        return from_client(w, CLIENT, rtp(w));
    case DOWNLINK_OF_A:
        return downlink(w, owner_a, CLIENT);
    case DOWNLINK_OF_B:
        return downlink(w, owner_b, CLIENT);
    case NOTHING:
        break;
    }
    return (struct verdict){.reason = FORWARD_REASON_COUNT};
}

static struct flow_owner owner_of(enum owner owner)
{
    return owner == A ? owner_a : owner_b;
}

static void assert_verdict(const struct cell *c, const struct verdict *v)
{
    assert_int_equal(v->reason, c->reason);
    if (c->to == NOBODY) {
        assert_int_equal(v->action, FORWARD_DROP);
        return;
    }
    assert_true(flow_owner_equal(v->owner, owner_of(c->to)));
    const bool is_down = c->event == DOWNLINK_OF_A || c->event == DOWNLINK_OF_B;
    const char *shard = c->to == A ? "10.0.0.5:4001" : "10.0.0.6:4000";
    const struct net_addr destination = addr(is_down ? CLIENT : shard);
    assert_int_equal(v->action, is_down ? FORWARD_TO_CLIENT : FORWARD_TO_TRANSCEIVER);
    assert_true(net_addr_equal(&v->destination, &destination));
}

/* The owner shows in where a datagram without a token goes. */
static void assert_flow(const struct cell *c, struct world *w)
{
    assert_int_equal(flow_count(w, FLOW_HALF_OPEN), c->after == FLOW_HALF_OPEN);
    assert_int_equal(flow_count(w, FLOW_CONFIRMED), c->after == FLOW_CONFIRMED);
    const struct verdict v = from_client(w, CLIENT, rtp(w));
    assert_int_equal(v.reason, c->owner == NOBODY ? FORWARD_UP_NO_FLOW : FORWARD_UP_FLOW);
    if (c->owner != NOBODY) {
        assert_true(flow_owner_equal(v.owner, owner_of(c->owner)));
    }
}

/* A flow is gone at the end of its life, counted from the event that refreshed it, else from the
 * start; and not a moment earlier. */
static void assert_life(const struct cell *c, struct world *w)
{
    if (c->after == FLOW_FREE) {
        return;
    }
    const uint64_t life_us =
        c->after == FLOW_HALF_OPEN ? FLOW_HALF_OPEN_LIFE_US : FLOW_CONFIRMED_LIFE_US;
    const uint64_t end_us = (c->refreshed ? w->now_us : WORLD_START_US) + life_us;
    w->now_us = end_us - 1;
    forwarder_tick(w->forwarder, w->now_us);
    assert_int_equal(flow_count(w, c->after), 1);
    w->now_us = end_us;
    assert_int_equal(from_client(w, CLIENT, rtp(w)).reason, FORWARD_UP_NO_FLOW);
    assert_int_equal(flow_count(w, c->after), 0);
}

static void every_cell_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cell); i++) {
        print_message("cell %zu: before %d, event %d\n", i, (int)cell[i].before,
                      (int)cell[i].event);
        struct world w = world_open();
        prepare(&w, cell[i].before);
        const struct verdict v = happen(&w, cell[i].event);
        assert_verdict(&cell[i], &v);
        assert_flow(&cell[i], &w);
        assert_life(&cell[i], &w);
        world_close(&w);
    }
}

/* Three seconds are counted from the owner's last downlink, not from the first. */
static void an_owner_that_keeps_sending_keeps_its_flow(void **state)
{
    (void)state;
    struct world w = world_open();
    prepare(&w, HALF_OPEN);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(downlink(&w, owner_a, CLIENT).reason, FORWARD_DOWN_SHIM);
        w.now_us += FORWARDER_OWNER_KEEPS_US - 1;
        (void)from_client(&w, CLIENT, request(&w, owner_b));
        (void)downlink(&w, owner_b, CLIENT);
        const struct verdict v = from_client(&w, CLIENT, rtp(&w));
        assert_int_equal(v.reason, FORWARD_UP_FLOW);
        assert_true(flow_owner_equal(v.owner, owner_a));
    }
    world_close(&w);
}

/* Announcements are downlinks too: a silent agent's session keeps its client. */
static void an_announcement_keeps_the_flow_as_well(void **state)
{
    (void)state;
    struct world w = world_open();
    prepare(&w, ACTIVE);
    const uint8_t flags = RELAY_SHIM_DOWNLINK | RELAY_SHIM_ANNOUNCEMENT;
    const struct verdict v = from_shard_of(&w, owner_a, shim_of(&w, flags, owner_a, CLIENT, 0));
    assert_int_equal(v.reason, FORWARD_DOWN_ANNOUNCEMENT);
    assert_int_equal(v.action, FORWARD_NOTHING);
    w.now_us += FORWARDER_OWNER_KEEPS_US - 1;
    (void)downlink(&w, owner_b, CLIENT);
    assert_true(flow_owner_equal(from_client(&w, CLIENT, rtp(&w)).owner, owner_a));
    world_close(&w);
}

/* A spoofed request took the flow while its owner was frozen; the owner's next word takes it
 * back. */
static void a_flow_taken_from_a_frozen_owner_comes_back(void **state)
{
    (void)state;
    struct world w = world_open();
    prepare(&w, SILENT);
    (void)from_client(&w, CLIENT, request(&w, owner_b));
    assert_true(flow_owner_equal(from_client(&w, CLIENT, rtp(&w)).owner, owner_b));
    (void)downlink(&w, owner_a, CLIENT);
    assert_true(flow_owner_equal(from_client(&w, CLIENT, rtp(&w)).owner, owner_a));
    assert_int_equal(flow_count(&w, FLOW_CONFIRMED), 1);
    world_close(&w);
}

/* An ICE restart makes a new token for the session: it keeps its flow, and from another address of
 * the client it makes one more, while the old one still carries what was under way. */
static void a_new_token_is_of_the_same_session(void **state)
{
    (void)state;
    static const char moved[] = "203.0.113.9:40000";
    struct world w = world_open();
    prepare(&w, ACTIVE);
    for (unsigned restart = 1; restart <= 255; restart += 127) {
        const struct verdict v =
            from_client(&w, CLIENT, request_of_generation(&w, owner_a, (uint8_t)restart));
        assert_int_equal(v.reason, FORWARD_UP_TOKEN);
        assert_true(flow_owner_equal(v.owner, owner_a));
        assert_int_equal(flow_count(&w, FLOW_CONFIRMED), 1);
    }
    assert_int_equal(from_client(&w, moved, rtp(&w)).reason, FORWARD_UP_NO_FLOW);
    const struct verdict v = from_client(&w, moved, request_of_generation(&w, owner_a, 1));
    assert_int_equal(v.reason, FORWARD_UP_TOKEN);
    assert_true(flow_owner_equal(v.owner, owner_a));
    assert_int_equal(flow_count(&w, FLOW_HALF_OPEN), 1);
    assert_int_equal(downlink(&w, owner_a, moved).reason, FORWARD_DOWN_SHIM);
    assert_int_equal(flow_count(&w, FLOW_CONFIRMED), 2);
    assert_int_equal(from_client(&w, moved, rtp(&w)).reason, FORWARD_UP_FLOW);
    assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason, FORWARD_UP_FLOW);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_holds),
        cmocka_unit_test(an_owner_that_keeps_sending_keeps_its_flow),
        cmocka_unit_test(an_announcement_keeps_the_flow_as_well),
        cmocka_unit_test(a_flow_taken_from_a_frozen_owner_comes_back),
        cmocka_unit_test(a_new_token_is_of_the_same_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
