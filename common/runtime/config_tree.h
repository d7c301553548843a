/*
 * config_tree.h - a YAML text as a tree of nodes, within bounds
 *
 * Takes:   one document whose root is a mapping; an empty text is an empty mapping.
 * Gives:   nodes in document order, scalars with ${NAME} and ${NAME:-default} replaced.
 * Owns:    every node and string until config_tree_destroy.
 * Fails:   with `name:line: path: what is wrong`. Refused: what libyaml refuses, duplicate keys,
 *          aliases, tags, a second document, and anything beyond the bounds below.
 * Not here: types and unknown keys (yaml_reader.h).
 */
#ifndef EARSHOT_CONFIG_TREE_H
#define EARSHOT_CONFIG_TREE_H

#include "common/base/status.h"

#define CONFIG_BYTES_MAX        (1024 * 1024)
#define CONFIG_DEPTH_MAX        16
#define CONFIG_NODES_MAX        65536
#define CONFIG_MAPPING_KEYS_MAX 512
#define CONFIG_KEY_LEN_MAX      64
#define CONFIG_VALUE_LEN_MAX    4096
#define CONFIG_PATH_CAP         160 /* longer paths are cut: a fault's line must still fit */

enum config_kind { CONFIG_SCALAR, CONFIG_LIST, CONFIG_MAPPING };

struct config_node {
    enum config_kind kind;
    char *key;    /* in a mapping */
    size_t index; /* in a list */
    char *value;  /* of a scalar */
    bool is_null; /* a scalar with nothing written */
    bool is_asked;
    size_t line;
    size_t child_count;
    struct config_node *parent;
    struct config_node *first_child;
    struct config_node *last_child;
    struct config_node *next_sibling;
    struct config_node *next; /* in document order */
};

/* The root, or NULL and a fault. `name` stands for the text in faults. */
struct config_node *config_tree_parse(struct bytes_view text, const char *name,
                                      struct fault *fault);
void config_tree_destroy(struct config_node *root);

/* "ingress[0].udp", for faults; returns text. The root's path is empty. */
const char *config_tree_path(const struct config_node *node, char *text, size_t text_cap);

#endif
