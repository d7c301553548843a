/* api_keys.c - see api_keys.h */
#include "services/signaling/access/api_keys.h"

#include "common/crypto/sha256.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX   8
#define OFFERS_WORD "offers_per_s="

static_assert(API_KEY_HASH_BYTES == SHA256_BYTES, "a hash is SHA-256");
static_assert(API_KEY_TENANT_BYTES <= SHA256_BYTES, "a tenant is the front of one");

struct api_keys {
    size_t count;
    struct api_key key[API_KEYS_MAX];
};

/* Where in which file the reader is. */
struct place {
    const char *name;
    size_t line;
};

/* --- a line ----------------------------------------------------------------------------------- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The words of a line; one more than there is room for is not looked at, but counted. */
static size_t split(struct bytes_view line, struct bytes_view word[WORDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < line.len;) {
        const size_t begin = i;
        while (i < line.len && !is_blank(line.data[i])) {
            i++;
        }
        if (i > begin && count < WORDS_MAX) {
            word[count] = bytes_view_of(line.data + begin, i - begin);
        }
        count += i > begin;
        i += i < line.len;
    }
    return count;
}

static bool is_tenant_name(struct bytes_view v)
{
    for (size_t i = 0; i < v.len; i++) {
        const uint8_t c = v.data[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.') {
            return false;
        }
    }
    return v.len > 0 && v.len <= API_KEY_TENANT_CHARS_MAX;
}

static bool read_role(struct bytes_view word, enum api_key_role *out)
{
    static const char *const name[API_KEY_ROLE_COUNT] = {
        [API_KEY_APP] = "app",
        [API_KEY_PEER] = "peer",
        [API_KEY_OPERATOR] = "operator",
    };
    for (size_t i = 0; i < API_KEY_ROLE_COUNT; i++) {
        if (bytes_equal(word, bytes_view_of_text(name[i]))) {
            *out = (enum api_key_role)i;
            return true;
        }
    }
    return false;
}

static bool read_offers_per_s(struct bytes_view word, uint32_t *out)
{
    const size_t prefix_len = sizeof(OFFERS_WORD) - 1;
    uint32_t value = 0;
    if (word.len <= prefix_len || memcmp(word.data, OFFERS_WORD, prefix_len) != 0) {
        return false;
    }
    for (size_t i = prefix_len; i < word.len; i++) {
        if (word.data[i] < '0' || word.data[i] > '9') {
            return false;
        }
        value = value * 10 + (uint32_t)(word.data[i] - '0');
        if (value > API_KEY_OFFERS_PER_S_MAX) {
            return false;
        }
    }
    *out = value;
    return value > 0;
}

static bool read_key(const struct bytes_view word[WORDS_MAX], size_t word_count,
                     const struct place *at, struct api_key *out, struct fault *fault)
{
    if (word_count < 3 || word_count > 4) {
        return fault_set(fault, FAULT_CONFIG, "%s:%zu: wants: tenant role sha256 [%sN]", at->name,
                         at->line, OFFERS_WORD);
    }
    if (!is_tenant_name(word[0])) {
        return fault_set(fault, FAULT_CONFIG,
                         "%s:%zu: a tenant is 1..%d letters, digits, dots, dashes", at->name,
                         at->line, API_KEY_TENANT_CHARS_MAX);
    }
    if (!read_role(word[1], &out->role)) {
        return fault_set(fault, FAULT_CONFIG, "%s:%zu: the role is not app, peer or operator",
                         at->name, at->line);
    }
    if (!bytes_from_hex(word[2], out->hash, sizeof(out->hash))) {
        return fault_set(fault, FAULT_CONFIG, "%s:%zu: the hash is not %d hex digits", at->name,
                         at->line, 2 * API_KEY_HASH_BYTES);
    }
    if (word_count == 4 && !read_offers_per_s(word[3], &out->offers_per_s)) {
        return fault_set(fault, FAULT_CONFIG, "%s:%zu: the last word is not %s1..%d", at->name,
                         at->line, OFFERS_WORD, API_KEY_OFFERS_PER_S_MAX);
    }
    api_keys_tenant(word[0], out->tenant);
    return true;
}

/* --- the file --------------------------------------------------------------------------------- */

static bool holds(const struct api_keys *keys, const uint8_t hash[API_KEY_HASH_BYTES])
{
    for (size_t i = 0; i < keys->count; i++) {
        if (memcmp(keys->key[i].hash, hash, API_KEY_HASH_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

static bool take_line(struct api_keys *keys, struct bytes_view line, const struct place *at,
                      struct fault *fault)
{
    struct bytes_view word[WORDS_MAX];
    struct api_key key = {.role = API_KEY_APP};
    const size_t word_count = split(line, word);
    if (word_count == 0 || word[0].data[0] == '#') {
        return true;
    }
    if (!read_key(word, word_count, at, &key, fault)) {
        return false;
    }
    if (holds(keys, key.hash)) {
        return fault_set(fault, FAULT_CONFIG, "%s:%zu: this key stands in the file already",
                         at->name, at->line);
    }
    if (keys->count == API_KEYS_MAX) {
        return fault_set(fault, FAULT_LIMIT, "%s:%zu: more than %d keys", at->name, at->line,
                         API_KEYS_MAX);
    }
    keys->key[keys->count++] = key;
    return true;
}

struct api_keys *api_keys_parse(struct bytes_view text, const char *name, struct fault *fault)
{
    struct api_keys *keys = calloc(1, sizeof(*keys));
    struct place at = {.name = name};
    if (keys == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "%s: out of memory", name);
        return NULL;
    }
    while (text.len > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.len);
        const size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        const size_t used = end != NULL ? len + 1 : len;
        at.line++;
        if (!take_line(keys, bytes_view_of(text.data, len), &at, fault)) {
            api_keys_destroy(keys);
            return NULL;
        }
        text = bytes_view_of(text.data + used, text.len - used);
    }
    return keys;
}

/* The whole file, up to `cap` bytes. */
static bool read_text(int fd, uint8_t *text, size_t cap, size_t *out_len)
{
    size_t len = 0;
    ssize_t got = 0;
    do {
        got = read(fd, text + len, cap - len);
        len += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && len < cap) || (got < 0 && errno == EINTR));
    *out_len = len;
    return got >= 0;
}

static struct api_keys *load_open_file(int fd, const char *path, uint8_t *text, struct fault *fault)
{
    struct stat status;
    size_t len = 0;
    if (fd < 0 || fstat(fd, &status) != 0) {
        (void)fault_set(fault, FAULT_CONFIG, "API keys %s: %s", path, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        (void)fault_set(fault, FAULT_CONFIG, "API keys %s: is not a file", path);
    } else if ((status.st_mode & S_IRWXO) != 0) {
        (void)fault_set(fault, FAULT_CONFIG,
                        "API keys %s: mode %04o is open to others; chmod o= it", path,
                        (unsigned)status.st_mode & 07777u);
    } else if (text == NULL || !read_text(fd, text, API_KEYS_FILE_BYTES_MAX + 1, &len)) {
        (void)fault_set(fault, FAULT_SYSTEM, "read API keys %s: %s", path, strerror(errno));
    } else if (len > API_KEYS_FILE_BYTES_MAX) {
        (void)fault_set(fault, FAULT_LIMIT, "API keys %s: larger than %d bytes", path,
                        API_KEYS_FILE_BYTES_MAX);
    } else {
        return api_keys_parse(bytes_view_of(text, len), path, fault);
    }
    return NULL;
}

struct api_keys *api_keys_load(const char *path, struct fault *fault)
{
    /* O_NONBLOCK: the open of a FIFO must not wait. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint8_t *text = malloc(API_KEYS_FILE_BYTES_MAX + 1);
    struct api_keys *keys = load_open_file(fd, path, text, fault);
    free(text);
    if (fd >= 0) {
        (void)close(fd);
    }
    return keys;
}

void api_keys_destroy(struct api_keys *keys)
{
    free(keys);
}

size_t api_keys_count(const struct api_keys *keys)
{
    return keys->count;
}

/* --- use -------------------------------------------------------------------------------------- */

const struct api_key *api_keys_find(const struct api_keys *keys, struct bytes_view key)
{
    uint8_t hash[API_KEY_HASH_BYTES];
    const struct api_key *found = NULL;
    sha256(key, hash);
    /* All of them, so that the time does not tell how near a guess was. */
    for (size_t i = 0; i < keys->count; i++) {
        if (bytes_equal_constant_time(bytes_view_of(keys->key[i].hash, sizeof(hash)),
                                      bytes_view_of(hash, sizeof(hash)))) {
            found = &keys->key[i];
        }
    }
    return found;
}

void api_keys_tenant(struct bytes_view name, uint8_t tenant[API_KEY_TENANT_BYTES])
{
    uint8_t hash[SHA256_BYTES];
    sha256(name, hash);
    memcpy(tenant, hash, API_KEY_TENANT_BYTES);
}
