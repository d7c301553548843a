/* secret_calls.c - see secret_calls.h */
#include "services/signaling/access/secret_calls.h"

#include "services/signaling/access/client_secret.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct secret_calls {
    size_t end;                                                   /* places in use lie below */
    char secret_id[SECRET_CALLS_MAX][CLIENT_SECRET_ID_CHARS + 1]; /* empty: a free place */
};

struct secret_calls *secret_calls_create(void)
{
    return calloc(1, sizeof(struct secret_calls));
}

void secret_calls_destroy(struct secret_calls *s)
{
    free(s);
}

size_t secret_calls_count(const struct secret_calls *s, const char *secret_id)
{
    size_t count = 0;
    for (size_t i = 0; i < s->end; i++) {
        count += strcmp(s->secret_id[i], secret_id) == 0;
    }
    return count;
}

size_t secret_calls_take(struct secret_calls *s, const char *secret_id)
{
    const size_t len = strlen(secret_id);
    size_t place = 0;
    assert(len <= CLIENT_SECRET_ID_CHARS);
    while (place < SECRET_CALLS_MAX && s->secret_id[place][0] != '\0') {
        place++;
    }
    if (len == 0 || place == SECRET_CALLS_MAX) {
        return SECRET_CALLS_NONE;
    }
    memcpy(s->secret_id[place], secret_id, len + 1);
    s->end = place >= s->end ? place + 1 : s->end;
    return place;
}

void secret_calls_give_back(struct secret_calls *s, size_t place)
{
    if (place == SECRET_CALLS_NONE) {
        return;
    }
    assert(s->secret_id[place][0] != '\0');
    s->secret_id[place][0] = '\0';
    while (s->end > 0 && s->secret_id[s->end - 1][0] == '\0') {
        s->end--;
    }
}
