/* keys_command.c - see keys_command.h */
#include "tools/earshotctl/keys_command.h"

#include "common/routing/key_ring.h"
#include "tools/earshotctl/api_keys_command.h"

#include <stdio.h>

static bool is_directory_name(const char *argument)
{
    return argument[0] != '\0' && argument[0] != '-';
}

static bool has_ring(const char *directory, struct fault *why_not)
{
    struct key_ring *ring = key_ring_load(directory, why_not);
    key_ring_destroy(ring);
    return ring != NULL;
}

static enum command_exit init_one(const char *directory, bool if_missing)
{
    struct fault fault = {0};
    struct fault why_not = {0};
    if (if_missing && has_ring(directory, &why_not)) {
        (void)printf("%s: holds a key ring already\n", directory);
        return COMMAND_YES;
    }
    if (!key_ring_init_directory(directory, &fault)) {
        /* There, but not a ring that loads: what is wrong with it says more. */
        const bool is_broken = if_missing && fault.code == FAULT_CONFIG;
        return command_fail(is_broken ? &why_not : &fault);
    }
    (void)printf("%s: key ring made, key 00 active\n", directory);
    return COMMAND_YES;
}

/* What stands before the directories; false for an option that is none, or lacks its word. */
static bool read_options(struct command_arguments *rest, bool *if_missing, const char **api_keys)
{
    while (rest->count > 0 && rest->text[0][0] == '-') {
        const bool is_file = strcmp(rest->text[0], "--api-keys") == 0;
        if (is_file && rest->count > 1 && is_directory_name(rest->text[1])) {
            *api_keys = rest->text[1];
        } else if (strcmp(rest->text[0], "--if-missing") == 0) {
            *if_missing = true;
        } else {
            return false;
        }
        rest->text += is_file ? 2 : 1;
        rest->count -= is_file ? 2 : 1;
    }
    return rest->count > 0;
}

enum command_exit keys_command_init(struct command_arguments arguments)
{
    bool if_missing = false;
    const char *api_keys = NULL;
    struct fault fault = {0};
    if (!read_options(&arguments, &if_missing, &api_keys)) {
        return COMMAND_USAGE;
    }
    for (size_t i = 0; i < arguments.count; i++) {
        if (!is_directory_name(arguments.text[i])) {
            return COMMAND_USAGE;
        }
    }
    enum command_exit result = COMMAND_YES;
    for (size_t i = 0; i < arguments.count && result == COMMAND_YES; i++) {
        result = init_one(arguments.text[i], if_missing);
    }
    if (result == COMMAND_YES && api_keys != NULL &&
        !api_keys_command_make_file(api_keys, &fault)) {
        return command_fail(&fault);
    }
    return result;
}

enum command_exit keys_command_list(struct command_arguments arguments)
{
    if (arguments.count != 1 || !is_directory_name(arguments.text[0])) {
        return COMMAND_USAGE;
    }
    struct fault fault = {0};
    struct key_ring *ring = key_ring_load(arguments.text[0], &fault);
    if (ring == NULL) {
        return command_fail(&fault);
    }
    (void)printf("KEY  STATE\n");
    for (uint8_t id = 0; id < KEY_RING_IDS; id++) {
        if (key_ring_has(ring, id)) {
            (void)printf("%02u   %s\n", id, id == key_ring_active_id(ring) ? "active" : "verifies");
        }
    }
    key_ring_destroy(ring);
    return COMMAND_YES;
}
