/* api_keys_command.c - see api_keys_command.h */
#include "tools/earshotctl/api_keys_command.h"

#include "common/base/random.h"
#include "common/crypto/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_PREFIX       "sk-earshot-"
#define KEY_BYTES        32
#define KEY_CHARS        (sizeof(KEY_PREFIX) - 1 + 2 * KEY_BYTES)
#define TENANT_CHARS_MAX 64
#define FILE_HEAD        "# tenant  role  SHA-256 of the key  [offers_per_s=N]\n"

static bool make_parent(const char *path, struct fault *fault)
{
    char parent[256];
    const char *slash = strrchr(path, '/');
    const size_t len = slash != NULL ? (size_t)(slash - path) : 0;
    if (len == 0) {
        return true;
    }
    if (len >= sizeof(parent)) {
        return fault_set(fault, FAULT_CONFIG, "%.64s...: the path is too long", path);
    }
    memcpy(parent, path, len);
    parent[len] = '\0';
    return mkdir(parent, 0700) == 0 || errno == EEXIST ||
           fault_set(fault, FAULT_SYSTEM, "mkdir %s: %s", parent, strerror(errno));
}

static bool append(const char *path, int flags, const char *text, struct fault *fault)
{
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | flags, 0600);
    const ssize_t len = (ssize_t)strlen(text);
    const bool is_written = fd >= 0 && write(fd, text, (size_t)len) == len && fsync(fd) == 0;
    const int cause = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_written || fault_set(fault, FAULT_SYSTEM, "write %s: %s", path, strerror(cause));
}

bool api_keys_command_make_file(const char *path, struct fault *fault)
{
    if (access(path, F_OK) == 0) {
        return true;
    }
    return make_parent(path, fault) && append(path, O_EXCL, FILE_HEAD, fault);
}

static bool is_tenant(const char *text)
{
    const size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789.-_");
    return len > 0 && len <= TENANT_CHARS_MAX && text[len] == '\0' && text[0] != '-';
}

static void make_key(char key[KEY_CHARS + 1], char hash[2 * SHA256_BYTES + 1])
{
    uint8_t bytes[KEY_BYTES];
    uint8_t digest[SHA256_BYTES];
    const size_t prefix_len = sizeof(KEY_PREFIX) - 1;
    random_fill(random_system(), bytes, sizeof(bytes));
    memcpy(key, KEY_PREFIX, prefix_len);
    if (!bytes_to_hex(bytes_view_of(bytes, sizeof(bytes)), key + prefix_len, 2 * KEY_BYTES + 1)) {
        key[0] = '\0';
    }
    explicit_bzero(bytes, sizeof(bytes));
    sha256(bytes_view_of_text(key), digest);
    if (!bytes_to_hex(bytes_view_of(digest, sizeof(digest)), hash, 2 * SHA256_BYTES + 1)) {
        hash[0] = '\0';
    }
}

enum command_exit api_keys_command_add(struct command_arguments arguments)
{
    char key[KEY_CHARS + 1];
    char hash[2 * SHA256_BYTES + 1];
    char line[TENANT_CHARS_MAX + sizeof(hash) + 16];
    struct fault fault = {0};
    if (arguments.count != 2 || arguments.text[0][0] == '\0' || arguments.text[0][0] == '-' ||
        !is_tenant(arguments.text[1])) {
        return COMMAND_USAGE;
    }
    make_key(key, hash);
    (void)snprintf(line, sizeof(line), "%s app %s\n", arguments.text[1], hash);
    const bool done = api_keys_command_make_file(arguments.text[0], &fault) &&
                      append(arguments.text[0], 0, line, &fault);
    if (done) {
        (void)printf("%s\n", key);
    }
    explicit_bzero(key, sizeof(key));
    return done ? COMMAND_YES : command_fail(&fault);
}
