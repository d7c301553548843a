/* session_shelf.c - see session_shelf.h */
#include "services/inference-stub/session_shelf.h"

#include <stdlib.h>

struct shelf_place {
    struct stub_session *session;
    uint64_t until_us;
    TAILQ_ENTRY(shelf_place) next;
};

void session_shelf_init(struct session_shelf *shelf)
{
    shelf->count = 0;
    TAILQ_INIT(&shelf->places);
}

static struct stub_session *remove_place(struct session_shelf *shelf, struct shelf_place *place)
{
    struct stub_session *session = place->session;
    TAILQ_REMOVE(&shelf->places, place, next);
    shelf->count--;
    free(place);
    return session;
}

void session_shelf_clear(struct session_shelf *shelf)
{
    while (!TAILQ_EMPTY(&shelf->places)) {
        stub_session_destroy(remove_place(shelf, TAILQ_FIRST(&shelf->places)));
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
        stub_session_destroy(remove_place(shelf, TAILQ_FIRST(&shelf->places)));
    }
    *place = (struct shelf_place){.session = session, .until_us = now_us + SESSION_SHELF_US};
    TAILQ_INSERT_TAIL(&shelf->places, place, next);
    shelf->count++;
}

struct stub_session *session_shelf_take(struct session_shelf *shelf, const char *token,
                                        uint64_t now_us)
{
    struct shelf_place *place = NULL;
    session_shelf_tick(shelf, now_us);
    TAILQ_FOREACH(place, &shelf->places, next)
    {
        if (stub_session_has_token(place->session, token)) {
            return remove_place(shelf, place);
        }
    }
    return NULL;
}

void session_shelf_tick(struct session_shelf *shelf, uint64_t now_us)
{
    struct shelf_place *oldest = NULL;
    while ((oldest = TAILQ_FIRST(&shelf->places)) != NULL && now_us >= oldest->until_us) {
        stub_session_destroy(remove_place(shelf, oldest));
    }
}
