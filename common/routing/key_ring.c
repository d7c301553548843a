/* key_ring.c - see key_ring.h */
#include "common/routing/key_ring.h"

#include "common/base/random.h"
#include "common/crypto/aes_block.h"
#include "common/crypto/aes_gcm.h"
#include "common/crypto/hkdf.h"
#include "common/crypto/siphash.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_HEX_DIGITS (2 * KEY_RING_SECRET_BYTES)
#define ACTIVE_NAME       "active"

/* A secret or the two digits of `active`, with a line end and one character too many. */
#define FILE_TEXT_CAP (SECRET_HEX_DIGITS + 3)

/* What a copy of the ring is made from. */
struct derived_keys {
    uint8_t token[AES_BLOCK_KEY_BYTES];
    uint8_t shim[SIPHASH_KEY_BYTES];
    uint8_t call_id[AES_BLOCK_KEY_BYTES];
    uint8_t client_secret[AES_GCM_KEY_256];
};

struct ring_key {
    bool is_present;
    struct derived_keys derived;
    struct aes_block *token_cipher;
    struct siphash_key *shim_mac;
    struct aes_block *call_id_cipher;
    struct aes_gcm *client_secret_cipher;
};

struct key_ring {
    uint8_t active_id;
    struct ring_key keys[KEY_RING_IDS];
};

static void derive(const uint8_t secret[KEY_RING_SECRET_BYTES], const char *info, uint8_t *out,
                   size_t out_len)
{
    hkdf_sha256(bytes_view_of(secret, KEY_RING_SECRET_BYTES), (struct bytes_view){0},
                bytes_view_of_text(info), out, out_len);
}

static void derive_all(const uint8_t secret[KEY_RING_SECRET_BYTES], struct derived_keys *out)
{
    derive(secret, "earshot token v1", out->token, sizeof(out->token));
    derive(secret, "earshot shim v1", out->shim, sizeof(out->shim));
    derive(secret, "earshot call id v1", out->call_id, sizeof(out->call_id));
    derive(secret, "earshot client secret v1", out->client_secret, sizeof(out->client_secret));
}

/* False without memory; key_ring_destroy frees what was made. */
static bool put_key(struct key_ring *ring, uint8_t key_id, const struct derived_keys *derived)
{
    struct ring_key *key = &ring->keys[key_id];
    assert(!key->is_present);
    key->is_present = true;
    key->derived = *derived;
    key->token_cipher = aes_block_create(derived->token);
    key->shim_mac = siphash_key_create(derived->shim);
    key->call_id_cipher = aes_block_create(derived->call_id);
    key->client_secret_cipher = aes_gcm_create(derived->client_secret, AES_GCM_KEY_256);
    return key->token_cipher != NULL && key->shim_mac != NULL && key->call_id_cipher != NULL &&
           key->client_secret_cipher != NULL;
}

static bool put_secret(struct key_ring *ring, uint8_t key_id,
                       const uint8_t secret[KEY_RING_SECRET_BYTES])
{
    struct derived_keys derived;
    derive_all(secret, &derived);
    const bool done = put_key(ring, key_id, &derived);
    explicit_bzero(&derived, sizeof(derived));
    return done;
}

struct key_ring *key_ring_from_secret(uint8_t key_id, const uint8_t secret[KEY_RING_SECRET_BYTES])
{
    assert(key_id < KEY_RING_IDS);
    struct key_ring *ring = calloc(1, sizeof(*ring));
    if (ring == NULL) {
        return NULL;
    }
    if (!put_secret(ring, key_id, secret)) {
        key_ring_destroy(ring);
        return NULL;
    }
    ring->active_id = key_id;
    return ring;
}

struct key_ring *key_ring_copy(const struct key_ring *ring)
{
    struct key_ring *copy = calloc(1, sizeof(*copy));
    if (copy == NULL) {
        return NULL;
    }
    copy->active_id = ring->active_id;
    for (uint8_t id = 0; id < KEY_RING_IDS; id++) {
        if (ring->keys[id].is_present && !put_key(copy, id, &ring->keys[id].derived)) {
            key_ring_destroy(copy);
            return NULL;
        }
    }
    return copy;
}

void key_ring_destroy(struct key_ring *ring)
{
    if (ring == NULL) {
        return;
    }
    for (size_t id = 0; id < KEY_RING_IDS; id++) {
        struct ring_key *key = &ring->keys[id];
        aes_block_destroy(key->token_cipher);
        siphash_key_destroy(key->shim_mac);
        aes_block_destroy(key->call_id_cipher);
        aes_gcm_destroy(key->client_secret_cipher);
    }
    explicit_bzero(ring, sizeof(*ring));
    free(ring);
}

bool key_ring_has(const struct key_ring *ring, uint8_t key_id)
{
    return key_id < KEY_RING_IDS && ring->keys[key_id].is_present;
}

uint8_t key_ring_active_id(const struct key_ring *ring)
{
    return ring->active_id;
}

struct aes_block *key_ring_token_cipher(struct key_ring *ring, uint8_t key_id)
{
    return key_ring_has(ring, key_id) ? ring->keys[key_id].token_cipher : NULL;
}

struct siphash_key *key_ring_shim_mac(struct key_ring *ring, uint8_t key_id)
{
    return key_ring_has(ring, key_id) ? ring->keys[key_id].shim_mac : NULL;
}

struct aes_block *key_ring_call_id_cipher(struct key_ring *ring, uint8_t key_id)
{
    return key_ring_has(ring, key_id) ? ring->keys[key_id].call_id_cipher : NULL;
}

struct aes_gcm *key_ring_client_secret_cipher(struct key_ring *ring, uint8_t key_id)
{
    return key_ring_has(ring, key_id) ? ring->keys[key_id].client_secret_cipher : NULL;
}

/* An open directory and the name that a person knows it by. */
struct ring_directory {
    const char *path;
    DIR *stream;
};

static bool open_directory(const char *path, struct ring_directory *out, struct fault *fault)
{
    out->path = path;
    out->stream = opendir(path);
    if (out->stream == NULL) {
        return fault_set(fault, FAULT_CONFIG, "key ring %s: %s", path, strerror(errno));
    }
    return true;
}

static bool two_digits(const char *text, unsigned *out)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') {
        return false;
    }
    *out = (unsigned)(text[0] - '0') * 10 + (unsigned)(text[1] - '0');
    return true;
}

static bool is_key_name(const char *name, unsigned *out_id)
{
    return two_digits(name, out_id) && strcmp(name + 2, ".key") == 0;
}

/* The next NN.key of the directory; NULL after the last. */
static const char *next_key_name(const struct ring_directory *directory, unsigned *out_id)
{
    const struct dirent *entry = NULL;
    while ((entry = readdir(directory->stream)) != NULL) {
        if (is_key_name(entry->d_name, out_id)) {
            return entry->d_name;
        }
    }
    return NULL;
}

/* The file's text without its line end, cut at FILE_TEXT_CAP. */
static bool read_text(int fd, char text[FILE_TEXT_CAP], size_t *out_len)
{
    size_t len = 0;
    ssize_t got = 0;
    do {
        got = read(fd, text + len, FILE_TEXT_CAP - len);
        len += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && len < FILE_TEXT_CAP) || (got < 0 && errno == EINTR));
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r')) {
        len--;
    }
    *out_len = len;
    return got >= 0;
}

/* O_NONBLOCK: the open of a FIFO must not wait. */
static bool read_file(const struct ring_directory *directory, const char *name, mode_t forbidden,
                      char text[FILE_TEXT_CAP], size_t *out_len, struct fault *fault)
{
    struct stat status;
    bool done = false;
    const int fd = openat(dirfd(directory->stream), name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0) {
        (void)fault_set(fault, FAULT_CONFIG, "%s/%s: %s", directory->path, name, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        (void)fault_set(fault, FAULT_CONFIG, "%s/%s: is not a file", directory->path, name);
    } else if ((status.st_mode & forbidden) != 0) {
        (void)fault_set(fault, FAULT_CONFIG, "%s/%s: mode %04o is open to others; chmod o= it",
                        directory->path, name, (unsigned)status.st_mode & 07777u);
    } else if (!read_text(fd, text, out_len)) {
        (void)fault_set(fault, FAULT_SYSTEM, "read %s/%s: %s", directory->path, name,
                        strerror(errno));
    } else {
        done = true;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return done;
}

static bool load_key(struct key_ring *ring, const struct ring_directory *directory,
                     const char *name, unsigned id, struct fault *fault)
{
    char text[FILE_TEXT_CAP];
    size_t len = 0;
    uint8_t secret[KEY_RING_SECRET_BYTES];
    bool done = false;
    if (id >= KEY_RING_IDS) {
        return fault_set(fault, FAULT_CONFIG, "%s/%s: key id is outside 00..63", directory->path,
                         name);
    }
    if (!read_file(directory, name, S_IRWXO, text, &len, fault)) {
        return false;
    }
    if (!bytes_from_hex(bytes_view_of(text, len), secret, sizeof(secret))) {
        (void)fault_set(fault, FAULT_CONFIG, "%s/%s: is not %d hex digits", directory->path, name,
                        SECRET_HEX_DIGITS);
    } else if (!put_secret(ring, (uint8_t)id, secret)) {
        (void)fault_set(fault, FAULT_SYSTEM, "%s/%s: out of memory", directory->path, name);
    } else {
        done = true;
    }
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(text, sizeof(text));
    return done;
}

static bool load_active(struct key_ring *ring, const struct ring_directory *directory,
                        struct fault *fault)
{
    char text[FILE_TEXT_CAP];
    size_t len = 0;
    unsigned id = 0;
    if (!read_file(directory, ACTIVE_NAME, S_IWOTH, text, &len, fault)) {
        return false;
    }
    if (len != 2 || !two_digits(text, &id)) {
        return fault_set(fault, FAULT_CONFIG, "%s/" ACTIVE_NAME ": is not the two digits of a key",
                         directory->path);
    }
    if (id >= KEY_RING_IDS || !ring->keys[id].is_present) {
        return fault_set(fault, FAULT_CONFIG, "%s/" ACTIVE_NAME ": names %02u.key, which is absent",
                         directory->path, id);
    }
    ring->active_id = (uint8_t)id;
    return true;
}

static bool load_all(struct key_ring *ring, const struct ring_directory *directory,
                     struct fault *fault)
{
    unsigned id = 0;
    const char *name = NULL;
    size_t count = 0;
    while ((name = next_key_name(directory, &id)) != NULL) {
        if (!load_key(ring, directory, name, id, fault)) {
            return false;
        }
        count++;
    }
    if (count == 0) {
        return fault_set(fault, FAULT_CONFIG, "key ring %s: holds no NN.key", directory->path);
    }
    return load_active(ring, directory, fault);
}

struct key_ring *key_ring_load(const char *directory, struct fault *fault)
{
    struct ring_directory opened;
    if (!open_directory(directory, &opened, fault)) {
        return NULL;
    }
    struct key_ring *ring = calloc(1, sizeof(*ring));
    if (ring == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "key ring %s: out of memory", directory);
    } else if (!load_all(ring, &opened, fault)) {
        key_ring_destroy(ring);
        ring = NULL;
    }
    (void)closedir(opened.stream);
    return ring;
}

/* One line, into a file that is not there yet. */
static bool write_file(const struct ring_directory *directory, const char *name, mode_t mode,
                       const char *text, struct fault *fault)
{
    const int fd =
        openat(dirfd(directory->stream), name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    const bool is_written = fd >= 0 && dprintf(fd, "%s\n", text) > 0 && fsync(fd) == 0;
    const int cause = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!is_written) {
        return fault_set(fault, FAULT_SYSTEM, "write %s/%s: %s", directory->path, name,
                         strerror(cause));
    }
    return true;
}

static bool holds_ring(const struct ring_directory *directory)
{
    unsigned id = 0;
    return faccessat(dirfd(directory->stream), ACTIVE_NAME, F_OK, 0) == 0 ||
           next_key_name(directory, &id) != NULL;
}

static bool write_first_ring(const struct ring_directory *directory, struct fault *fault)
{
    uint8_t secret[KEY_RING_SECRET_BYTES];
    char text[SECRET_HEX_DIGITS + 1];
    random_fill(random_system(), secret, sizeof(secret));
    const bool done = bytes_to_hex(bytes_view_of(secret, sizeof(secret)), text, sizeof(text)) &&
                      write_file(directory, "00.key", 0400, text, fault) &&
                      write_file(directory, ACTIVE_NAME, 0600, "00", fault);
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(text, sizeof(text));
    return done;
}

bool key_ring_init_directory(const char *directory, struct fault *fault)
{
    struct ring_directory opened;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        return fault_set(fault, FAULT_SYSTEM, "mkdir %s: %s", directory, strerror(errno));
    }
    if (!open_directory(directory, &opened, fault)) {
        return false;
    }
    const bool done = holds_ring(&opened) ? fault_set(fault, FAULT_CONFIG,
                                                      "key ring %s: is there already", directory)
                                          : write_first_ring(&opened, fault);
    (void)closedir(opened.stream);
    return done;
}
