/* command.c - see command.h */
#include "tools/earshotctl/command.h"

#include "tools/earshotctl/api_keys_command.h"
#include "tools/earshotctl/keys_command.h"
#include "tools/earshotctl/session_command.h"

#include <stdio.h>

struct command {
    const char *words[2]; /* the second is NULL for a command of one word */
    const char *arguments;
    const char *summary;
    enum command_exit (*run)(struct command_arguments arguments);
};

static const struct command commands[] = {
    {{"keys", "init"},
     "[--if-missing] [--api-keys FILE] DIR...",
     "make a ring of one random key in each DIR; --if-missing: a ring that is there is fine;\n"
     "      --api-keys: a file of API keys too, without a key",
     keys_command_init},
    {{"keys", "list"},
     "DIR",
     "the ids of the keys in DIR, and which one signs; never a secret",
     keys_command_list},
    {{"api-keys", "add"},
     "FILE TENANT",
     "make an API key of TENANT and print it; FILE gets its hash alone",
     api_keys_command_add},
    {{"session", "list"},
     "URL",
     "the calls of the transceiver whose control URL is URL, tcp://ADDRESS:PORT",
     session_command_list},
    {{"session", "show"},
     "URL CALL_ID",
     "one call of it: its state, when it came to what, its counters",
     session_command_show},
};

static void print_usage(FILE *to, const struct command *command)
{
    const bool has_two = command->words[1] != NULL;
    (void)fprintf(to, "  earshotctl %s%s%s %s\n      %s\n", command->words[0], has_two ? " " : "",
                  has_two ? command->words[1] : "", command->arguments, command->summary);
}

static void print_help(void)
{
    (void)printf("usage: earshotctl COMMAND [ARGUMENTS]\n"
                 "Looks at an earshot fleet and changes it.\n\n");
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        print_usage(stdout, &commands[i]);
    }
    (void)printf("\n"
                 "  --help     print this, or how one command is written\n"
                 "  --version  print the version\n\n"
                 "exit: %d yes, %d no, %d unreachable, %d wrong usage.\n",
                 COMMAND_YES, COMMAND_NO, COMMAND_UNREACHABLE, COMMAND_USAGE);
}

static bool has_words(const struct command *command, struct command_arguments arguments)
{
    const size_t word_count = command->words[1] == NULL ? 1 : 2;
    for (size_t i = 0; i < word_count; i++) {
        if (i >= arguments.count || strcmp(command->words[i], arguments.text[i]) != 0) {
            return false;
        }
    }
    return true;
}

static const struct command *find_command(struct command_arguments arguments)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (has_words(&commands[i], arguments)) {
            return &commands[i];
        }
    }
    return NULL;
}

static bool asks_for(struct command_arguments arguments, const char *option)
{
    for (size_t i = 0; i < arguments.count; i++) {
        if (strcmp(arguments.text[i], option) == 0) {
            return true;
        }
    }
    return false;
}

static enum command_exit run_found(const struct command *command,
                                   struct command_arguments arguments)
{
    const size_t word_count = command->words[1] == NULL ? 1 : 2;
    arguments.text += word_count;
    arguments.count -= word_count;
    if (asks_for(arguments, "--help")) {
        print_usage(stdout, command);
        return COMMAND_YES;
    }
    const enum command_exit result = command->run(arguments);
    if (result == COMMAND_USAGE) {
        (void)fprintf(stderr, "earshotctl: wrong arguments. It is written:\n");
        print_usage(stderr, command);
    }
    return result;
}

int command_run(int argc, char **argv)
{
    struct command_arguments arguments = {.text = argv + (argc > 0 ? 1 : 0),
                                          .count = argc > 0 ? (size_t)argc - 1 : 0};
    const struct command *command = find_command(arguments);
    if (command != NULL) {
        return (int)run_found(command, arguments);
    }
    if (asks_for(arguments, "--help")) {
        print_help();
        return COMMAND_YES;
    }
    if (arguments.count == 1 && asks_for(arguments, "--version")) {
        (void)printf("earshotctl %s\n", EARSHOT_VERSION);
        return COMMAND_YES;
    }
    (void)fprintf(stderr, "earshotctl: no such command. Try: earshotctl --help\n");
    return COMMAND_USAGE;
}

enum command_exit command_fail(const struct fault *fault)
{
    (void)fprintf(stderr, "earshotctl: %s\n", fault->text);
    return COMMAND_NO;
}
