/* sidebands.c - see sidebands.h */
#include "services/transceiver/core/session/sidebands.h"

#include <assert.h>

void sidebands_init(struct sidebands *s, const char *call_id, struct sideband_outbox *outbox)
{
    *s = (struct sidebands){.outbox = outbox, .call_id = call_id};
}

/* --- who is there ----------------------------------------------------------------------------- */

static bool is_listening(const struct sideband *b)
{
    return b->state != SIDEBANDS_NONE && b->state != SIDEBANDS_GONE;
}

static bool is_waiting(const struct sideband *b)
{
    return b->state == SIDEBANDS_UNTOLD || b->state == SIDEBANDS_TOLD;
}

static struct sideband *find(struct sidebands *s, uint32_t id)
{
    for (size_t i = 0; i < SIDEBANDS_MAX; i++) {
        if (is_listening(&s->sideband[i]) && s->sideband[i].id == id) {
            return &s->sideband[i];
        }
    }
    return NULL;
}

/* That a backend never hears of one that is gone harms nobody: new ones have its place. */
static struct sideband *find_place(struct sidebands *s)
{
    struct sideband *place = NULL;
    for (size_t i = 0; i < SIDEBANDS_MAX; i++) {
        if (s->sideband[i].state == SIDEBANDS_NONE) {
            return &s->sideband[i];
        }
        if (s->sideband[i].state == SIDEBANDS_GONE) {
            place = &s->sideband[i];
        }
    }
    return place;
}

enum sidebands_result sidebands_attach(struct sidebands *s, uint32_t id, uint64_t lease_us,
                                       uint64_t now_us)
{
    assert(id != 0);
    struct sideband *b = find(s, id);
    const bool is_new = b == NULL;
    if (is_new) {
        b = find_place(s);
    }
    if (b == NULL || s->is_over) {
        return SIDEBANDS_FULL;
    }
    if (is_new) {
        *b = (struct sideband){.state = SIDEBANDS_UNTOLD, .id = id};
    }
    b->lease_until_us = now_us + time_earlier(lease_us, SIDEBANDS_LEASE_US);
    return is_new ? SIDEBANDS_ATTACHED : SIDEBANDS_RENEWED;
}

void sidebands_detach(struct sidebands *s, uint32_t id)
{
    struct sideband *b = find(s, id);
    if (b != NULL) {
        b->state = SIDEBANDS_GONE;
    }
}

bool sidebands_has(const struct sidebands *s, uint32_t id)
{
    return find((struct sidebands *)s, id) != NULL;
}

size_t sidebands_count(const struct sidebands *s)
{
    size_t count = 0;
    for (size_t i = 0; i < SIDEBANDS_MAX; i++) {
        count += is_listening(&s->sideband[i]);
    }
    return count;
}

/* --- the backend ------------------------------------------------------------------------------ */

void sidebands_backend_back(struct sidebands *s)
{
    for (size_t i = 0; i < SIDEBANDS_MAX; i++) {
        if (s->sideband[i].state == SIDEBANDS_TOLD) {
            s->sideband[i].state = SIDEBANDS_UNTOLD;
        }
    }
}

static struct sideband *first_in(struct sidebands *s, enum sidebands_state state)
{
    for (size_t i = 0; i < SIDEBANDS_MAX; i++) {
        if (s->sideband[i].state == state) {
            return &s->sideband[i];
        }
    }
    return NULL;
}

/* Who left comes first: it may be back under its id. */
bool sidebands_poll_change(struct sidebands *s, struct backend_sideband *out, uint64_t now_us)
{
    struct sideband *b = first_in(s, SIDEBANDS_GONE);
    if (b != NULL) {
        b->state = SIDEBANDS_NONE;
        *out = (struct backend_sideband){.id = b->id, .is_attached = false};
        return true;
    }
    b = first_in(s, SIDEBANDS_UNTOLD);
    if (b != NULL) {
        b->state = SIDEBANDS_TOLD;
        b->wait_until_us = now_us + SIDEBANDS_WAIT_US;
        *out = (struct backend_sideband){.id = b->id, .is_attached = true};
        return true;
    }
    return false;
}

/* --- messages --------------------------------------------------------------------------------- */

static void publish(struct sidebands *s, struct sideband_message *m)
{
    const size_t len = strnlen(s->call_id, sizeof(m->call_id) - 1);
    memcpy(m->call_id, s->call_id, len);
    m->sequence = ++s->sequence;
    if (!sideband_outbox_add(s->outbox, m)) {
        s->lost++;
    }
}

void sidebands_tell_all(struct sidebands *s, struct bytes_view event)
{
    struct sideband_message m = {.text = event};
    size_t open = 0;
    for (size_t i = 0; i < SIDEBANDS_MAX; i++) {
        const struct sideband *b = &s->sideband[i];
        if (is_waiting(b)) {
            m.waiting[m.waiting_count++] = b->id;
        }
        open += b->state == SIDEBANDS_OPEN;
    }
    if (open > 0) {
        publish(s, &m);
    }
}

void sidebands_tell_one(struct sidebands *s, uint32_t id, struct bytes_view event)
{
    struct sideband *b = find(s, id);
    if (b != NULL) {
        b->state = SIDEBANDS_OPEN;
        publish(s, &(struct sideband_message){.sideband_id = id, .text = event});
    }
}

void sidebands_end(struct sidebands *s, const char *reason)
{
    if (s->is_over) {
        return;
    }
    if (sidebands_count(s) > 0) {
        publish(s, &(struct sideband_message){.is_end = true, .text = bytes_view_of_text(reason)});
    }
    memset(s->sideband, 0, sizeof(s->sideband));
    s->is_over = true;
}

/* --- time ------------------------------------------------------------------------------------- */

void sidebands_tick(struct sidebands *s, uint64_t now_us)
{
    for (size_t i = 0; i < SIDEBANDS_MAX; i++) {
        struct sideband *b = &s->sideband[i];
        if (!is_listening(b)) {
            continue;
        }
        if (now_us >= b->lease_until_us) {
            b->state = SIDEBANDS_GONE;
        } else if (b->state == SIDEBANDS_TOLD && now_us >= b->wait_until_us) {
            b->state = SIDEBANDS_OPEN;
        }
    }
}

uint64_t sidebands_next_timeout(const struct sidebands *s)
{
    uint64_t first_us = TIME_NEVER;
    for (size_t i = 0; i < SIDEBANDS_MAX; i++) {
        const struct sideband *b = &s->sideband[i];
        if (is_listening(b)) {
            first_us = time_earlier(first_us, b->lease_until_us);
        }
        if (b->state == SIDEBANDS_TOLD) {
            first_us = time_earlier(first_us, b->wait_until_us);
        }
    }
    return first_us;
}
