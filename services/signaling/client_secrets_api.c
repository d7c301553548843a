/* client_secrets_api.c - see client_secrets_api.h */
#include "services/signaling/client_secrets_api.h"

#include "common/base/json_bounds.h"
#include "common/runtime/clock.h"
#include "services/signaling/offer/session_json.h"

#include <jansson.h>
#include <stdlib.h>

/* What a request asks for. */
struct wish {
    uint64_t life_s;
    char *session; /* or NULL */
};

static bool refuse(struct http_response *refusal, unsigned status, const char *code,
                   const char *message)
{
    *refusal = http_response_error(status, code, bytes_view_of_text(message));
    return false;
}

/* --- the request ------------------------------------------------------------------------------ */

static bool read_life(const json_t *root, struct wish *out, struct http_response *refusal)
{
    const json_t *expires_after = json_object_get(root, "expires_after");
    const json_t *anchor = json_object_get(expires_after, "anchor");
    const json_t *seconds = json_object_get(expires_after, "seconds");
    if (expires_after == NULL || json_is_null(expires_after)) {
        return true;
    }
    if (!json_is_object(expires_after) ||
        (anchor != NULL &&
         (!json_is_string(anchor) || strcmp(json_string_value(anchor), "created_at") != 0))) {
        return refuse(refusal, 400, "invalid_value", "expires_after counts from \"created_at\".");
    }
    const json_int_t value = json_integer_value(seconds);
    if (seconds != NULL && (!json_is_integer(seconds) || value < CLIENT_SECRET_LIFE_S_MIN ||
                            value > CLIENT_SECRET_LIFE_S_MAX)) {
        return refuse(refusal, 400, "invalid_value",
                      "expires_after.seconds is not a whole number of 10 to 7200.");
    }
    out->life_s = seconds != NULL ? (uint64_t)value : out->life_s;
    return true;
}

static bool read_session(const json_t *root, struct wish *out, struct http_response *refusal)
{
    const json_t *session = json_object_get(root, "session");
    if (session == NULL || json_is_null(session)) {
        return true;
    }
    char *text = json_dumps(session, JSON_TEXT_FLAGS | JSON_ENCODE_ANY);
    const enum session_json_result result =
        text == NULL
            ? SESSION_JSON_NO_MEMORY
            : session_json_merge((struct bytes_view){0}, bytes_view_of_text(text), &out->session);
    free(text);
    switch (result) {
    case SESSION_JSON_GOOD:
        return true;
    case SESSION_JSON_WRONG_TYPE:
        return refuse(refusal, 400, "invalid_value", "The session's type is not \"realtime\".");
    case SESSION_JSON_TOO_LARGE:
        return refuse(refusal, 413, "too_large", "The session is longer than 196608 bytes.");
    case SESSION_JSON_NO_MEMORY:
        return refuse(refusal, 503, "server_overloaded", "The server is out of memory.");
    default:
        return refuse(refusal, 400, "invalid_value", "The session is not an object.");
    }
}

/* An empty body asks for nothing in particular. True: the caller frees out->session. */
static bool read_wish(const struct http_request *request, struct wish *out,
                      struct http_response *refusal)
{
    *out = (struct wish){.life_s = CLIENT_SECRET_LIFE_S_DEFAULT};
    if (request->body.len == 0) {
        return true;
    }
    /* The session may be as deep as it may be anywhere, in an object of ours. */
    if (!json_bounds_hold(request->body, SESSION_JSON_DEPTH_MAX + 1,
                          SESSION_JSON_MEMBERS_MAX + 8)) {
        return refuse(refusal, 400, "invalid_json", "The body is too deep, or has too much in it.");
    }
    json_t *root = json_loadb((const char *)request->body.data, request->body.len, 0, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return refuse(refusal, 400, "invalid_json", "The body is not a JSON object.");
    }
    const bool is_good = read_life(root, out, refusal) && read_session(root, out, refusal);
    json_decref(root);
    return is_good;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Takes over `session`, which may be NULL; NULL without memory. */
static char *write_answer(const char *value, uint64_t expires_unix_s, json_t *session)
{
    json_t *root = json_pack("{s:s, s:I, s:o*}", "value", value, "expires_at",
                             (json_int_t)expires_unix_s, "session", session);
    char *text = root != NULL ? json_dumps(root, JSON_TEXT_FLAGS) : NULL;
    json_decref(root);
    return text;
}

static struct http_response no_memory(void)
{
    struct http_response r;
    (void)refuse(&r, 503, "server_overloaded", "The server is out of memory.");
    r.retry_after_s = 1;
    return r;
}

/* text becomes the response's. */
static struct http_response answer_with(char *text)
{
    if (text == NULL) {
        return no_memory();
    }
    struct http_response r = {.status = 200,
                              .content_type = "application/json",
                              .cache_control = "no-store",
                              .owned_body = text};
    r.body = bytes_view_of_text(text);
    return r;
}

/* The session as its clients will be told it. */
static json_t *effective_session(const struct client_secret *secret)
{
    char *text = session_json_effective(secret->session, secret->id, secret->expires_unix_s);
    json_t *session = text != NULL ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return session;
}

static struct http_response make(struct auth *auth, const struct auth_identity *who,
                                 const struct wish *wish, bool tells_session)
{
    char value[CLIENT_SECRET_CHARS_MAX + 1];
    struct client_secret secret;
    struct http_response response;
    const struct auth_wish asked = {.who = who,
                                    .session = wish->session,
                                    .unix_s = clock_unix_us() / US_PER_S,
                                    .life_s = wish->life_s};
    switch (auth_make_secret(auth, &asked, random_system(), value, &secret)) {
    case CLIENT_SECRET_SEALED:
        response = answer_with(write_answer(value, secret.expires_unix_s,
                                            tells_session ? effective_session(&secret) : NULL));
        break;
    case CLIENT_SECRET_TOO_LARGE:
        (void)refuse(&response, 413, "too_large",
                     "The session is too long for a client secret: send it by session.update.");
        break;
    default:
        response = no_memory();
        break;
    }
    explicit_bzero(value, sizeof(value));
    return response;
}

struct http_response client_secrets_api_issue(struct auth *auth, const struct http_request *request,
                                              const struct auth_identity *who)
{
    struct wish wish;
    struct http_response response;
    if (!read_wish(request, &wish, &response)) {
        return response;
    }
    response = make(auth, who, &wish, true);
    free(wish.session);
    return response;
}

struct http_response client_secrets_api_demo(struct auth *auth, const struct auth_identity *who)
{
    const struct wish wish = {.life_s = CLIENT_SECRET_LIFE_S_DEFAULT};
    return make(auth, who, &wish, false);
}
