/*
 * yaml_reader.h - a configuration file, read strictly
 *
 * Takes:   one YAML file: a mapping of scalars, lists of scalars, mappings, and lists of mappings.
 *          Scalars may hold ${NAME} or ${NAME:-default} of the environment.
 * Gives:   typed values by dotted path; a list element is written by index: "ingress[0].udp".
 * Fails:   with `file:line: key: what is wrong`: unknown key (a key nobody asked for by the time of
 *          yaml_reader_finish), wrong type, out of range, duplicate key, alias, depth above 16, a
 *          file above 1 MB, an unset ${NAME} without default. The first failure sticks: read all
 *          values, then check once with yaml_reader_finish.
 * Types:   true/false; decimal integers; durations with a unit (500us, 20ms, 5s, 1m, 1h);
 *          sizes with a unit (512, 64KB, 4MB, 1GB; 1 KB = 1024).
 */
#ifndef EARSHOT_YAML_READER_H
#define EARSHOT_YAML_READER_H

#include "common/base/net_addr.h"
#include "common/base/status.h"

struct yaml_reader;

/* NULL and a fault when the file can not be read or is not the YAML described above. */
struct yaml_reader *yaml_reader_load(const char *path, struct fault *fault);
/* The same from memory; `name` stands in for the file's name in faults. */
struct yaml_reader *yaml_reader_parse(struct bytes_view text, const char *name,
                                      struct fault *fault);
void yaml_reader_destroy(struct yaml_reader *r);

bool yaml_reader_has(struct yaml_reader *r, const char *path);
/* Elements of a list; 0 when the key is absent. */
size_t yaml_reader_count(struct yaml_reader *r, const char *path);

/* An absent key gives the fallback. A present one must have the type and lie in range. */
bool yaml_reader_bool(struct yaml_reader *r, const char *path, bool fallback);
uint64_t yaml_reader_u64(struct yaml_reader *r, const char *path, uint64_t min, uint64_t max,
                         uint64_t fallback);
uint64_t yaml_reader_duration_us(struct yaml_reader *r, const char *path, uint64_t min_us,
                                 uint64_t max_us, uint64_t fallback_us);
uint64_t yaml_reader_size(struct yaml_reader *r, const char *path, uint64_t min, uint64_t max,
                          uint64_t fallback);
/* Copies at most text_cap - 1 characters; longer is a failure. fallback NULL: the key must be
 * there. */
void yaml_reader_text(struct yaml_reader *r, const char *path, const char *fallback, char *text,
                      size_t text_cap);
/* One of `choices` (NULL-terminated); returns its index. */
size_t yaml_reader_choice(struct yaml_reader *r, const char *path, const char *const *choices,
                          size_t fallback);
/* "ip:port". fallback NULL: the key must be there. */
void yaml_reader_addr(struct yaml_reader *r, const char *path, const char *fallback,
                      struct net_addr *out);
/* "ip/bits" */
void yaml_reader_block(struct yaml_reader *r, const char *path, struct net_block *out);
/* For checks that need more than one value; the line is that of the key. */
void yaml_reader_fail(struct yaml_reader *r, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* False and the first failure if any read failed or a key of the file was never asked for. */
MUST_USE bool yaml_reader_finish(struct yaml_reader *r, struct fault *fault);

#endif
