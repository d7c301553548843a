/* web_files.c - see web_files.h */
#include "services/signaling/web_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct web_files {
    struct web_file file[WEB_FILES_MAX];
    size_t count;
};

/* NULL for an ending that is not served. */
static const char *content_type_of(const char *name)
{
    static const struct {
        const char *ending;
        const char *content_type;
    } row[] = {
        {".html", "text/html; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".ico", "image/x-icon"},
    };
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending != NULL && i < COUNT_OF(row); i++) {
        if (strcmp(ending, row[i].ending) == 0) {
            return row[i].content_type;
        }
    }
    return NULL;
}

static bool is_served_name(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const size_t len = strlen(name);
    return name[0] != '.' && len <= WEB_FILE_NAME_CHARS_MAX && strspn(name, plain) == len &&
           content_type_of(name) != NULL;
}

/* Exactly `size` bytes; false when the file ends before. */
static bool read_whole(int fd, uint8_t *content, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t n = read(fd, content + done, size - done);
        if (n <= 0) {
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

/* The content of a regular file of a bounded size, allocated; or a fault. */
static bool read_content(int directory_fd, const char *name, struct bytes_view *out,
                         struct fault *fault)
{
    const int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return fault_set(fault, FAULT_SYSTEM, "open web file %s: %s", name, strerror(errno));
    }
    struct stat info = {0};
    uint8_t *content = NULL;
    bool is_read = false;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        (void)fault_set(fault, FAULT_CONFIG, "web file %s: not a regular file", name);
        goto out;
    }
    if (info.st_size > WEB_FILE_BYTES_MAX) {
        (void)fault_set(fault, FAULT_LIMIT, "web file %s: larger than %d bytes", name,
                        WEB_FILE_BYTES_MAX);
        goto out;
    }
    content = malloc((size_t)info.st_size + 1);
    is_read = content != NULL && read_whole(fd, content, (size_t)info.st_size);
    if (!is_read) {
        (void)fault_set(fault, FAULT_SYSTEM, "read web file %s: it ends too early", name);
        free(content);
        goto out;
    }
    *out = bytes_view_of(content, (size_t)info.st_size);
out:
    (void)close(fd);
    return is_read;
}

static bool add_file(struct web_files *w, int directory_fd, const char *name, struct fault *fault)
{
    if (w->count == WEB_FILES_MAX) {
        return fault_set(fault, FAULT_LIMIT, "web: more than %d files", WEB_FILES_MAX);
    }
    struct web_file *file = &w->file[w->count];
    if (!read_content(directory_fd, name, &file->content, fault)) {
        return false;
    }
    memcpy(file->name, name, strlen(name) + 1); /* is_served_name bounds it */
    file->content_type = content_type_of(name);
    w->count++;
    return true;
}

static bool add_all(struct web_files *w, DIR *dir, struct fault *fault)
{
    const struct dirent *entry = NULL;
    while ((entry = readdir(dir)) != NULL) {
        if (is_served_name(entry->d_name) && !add_file(w, dirfd(dir), entry->d_name, fault)) {
            return false;
        }
    }
    return true;
}

struct web_files *web_files_load(const char *directory, struct fault *fault)
{
    struct web_files *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "web files: out of memory");
        return NULL;
    }
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        (void)fault_set(fault, FAULT_CONFIG, "open web directory %s: %s", directory,
                        strerror(errno));
        free(w);
        return NULL;
    }
    const bool is_good = add_all(w, dir, fault);
    (void)closedir(dir);
    if (!is_good) {
        web_files_destroy(w);
        return NULL;
    }
    return w;
}

void web_files_destroy(struct web_files *w)
{
    if (w == NULL) {
        return;
    }
    for (size_t i = 0; i < w->count; i++) {
        free((uint8_t *)w->file[i].content.data); /* ours: allocated in read_content */
    }
    free(w);
}

const struct web_file *web_files_find(const struct web_files *w, struct bytes_view path)
{
    if (path.len == 0 || path.data[0] != '/') {
        return NULL;
    }
    const struct bytes_view name = path.len == 1 ? bytes_view_of_text("index.html")
                                                 : bytes_view_of(path.data + 1, path.len - 1);
    for (size_t i = 0; i < w->count; i++) {
        if (bytes_equal(name, bytes_view_of_text(w->file[i].name))) {
            return &w->file[i];
        }
    }
    return NULL;
}
