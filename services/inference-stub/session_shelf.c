/* session_shelf.c - see session_shelf.h */
#include "services/inference-stub/session_shelf.h"

#include <stdlib.h>

struct shelf_place {
    struct stub_session *session;
    uint64_t until_us;
    STAILQ_ENTRY(shelf_place) next;
};

void session_shelf_init(struct session_shelf *shelf)
{
    shelf->count = 0;
    STAILQ_INIT(&shelf->places);
}

static void drop_oldest(struct session_shelf *shelf)
{
    struct shelf_place *oldest = STAILQ_FIRST(&shelf->places);
    STAILQ_REMOVE_HEAD(&shelf->places, next);
    shelf->count--;
    stub_session_destroy(oldest->session);
    free(oldest);
}

void session_shelf_clear(struct session_shelf *shelf)
{
    while (!STAILQ_EMPTY(&shelf->places)) {
        drop_oldest(shelf);
    }
}

void session_shelf_put(struct session_shelf *shelf, struct stub_session *session, uint64_t now_us)
{
    struct shelf_place *place = malloc(sizeof(*place));
    if (place == NULL) {
        stub_session_destroy(session);
        return;
    }
    if (shelf->count == SESSION_SHELF_MAX) {
        drop_oldest(shelf);
    }
    *place = (struct shelf_place){.session = session, .until_us = now_us + SESSION_SHELF_US};
    STAILQ_INSERT_TAIL(&shelf->places, place, next);
    shelf->count++;
}

struct stub_session *session_shelf_take(struct session_shelf *shelf, const char *token,
                                        uint64_t now_us)
{
    struct shelf_place *place = NULL;
    session_shelf_tick(shelf, now_us);
    STAILQ_FOREACH(place, &shelf->places, next)
    {
        if (stub_session_has_token(place->session, token)) {
            break;
        }
    }
    if (place == NULL) {
        return NULL;
    }
    struct stub_session *session = place->session;
    STAILQ_REMOVE(&shelf->places, place, shelf_place, next);
    shelf->count--;
    free(place);
    return session;
}

void session_shelf_tick(struct session_shelf *shelf, uint64_t now_us)
{
    while (!STAILQ_EMPTY(&shelf->places) && now_us >= STAILQ_FIRST(&shelf->places)->until_us) {
        drop_oldest(shelf);
    }
}
