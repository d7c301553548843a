/*
 * web_files.h - the demo page, read once into memory
 *
 * Takes:   a directory; each regular file directly in it whose name is plain (letters, digits,
 *          '-', '_' and '.', not first) and whose ending is known. Everything else is not there.
 * Gives:   content by exact name. A request never touches the file system, so no path leads out.
 * Owns:    all content, WEB_FILES_MAX files of WEB_FILE_BYTES_MAX.
 * Fails:   load fails with a line that names the directory or the file.
 */
#ifndef EARSHOT_WEB_FILES_H
#define EARSHOT_WEB_FILES_H

#include "common/base/status.h"

#define WEB_FILES_MAX           32
#define WEB_FILE_BYTES_MAX      (1024 * 1024)
#define WEB_FILE_NAME_CHARS_MAX 63

struct web_file {
    char name[WEB_FILE_NAME_CHARS_MAX + 1];
    const char *content_type; /* static text */
    struct bytes_view content;
};

struct web_files;

struct web_files *web_files_load(const char *directory, struct fault *fault);
void web_files_destroy(struct web_files *w);

/* path: "/" is index.html. Borrowed until destroy; NULL when there is no such file. */
const struct web_file *web_files_find(const struct web_files *w, struct bytes_view path);

#endif
