/* backend_target.c - see backend_target.h */
#include "services/transceiver/port/backend_target.h"

bool backend_target_open(struct backend_target *t, const char *target, struct fault *fault)
{
    static const char unix_prefix[] = "unix:";
    const bool is_unix = strncmp(target, unix_prefix, sizeof(unix_prefix) - 1) == 0;
    *t = (struct backend_target){.unix_path = is_unix ? target + sizeof(unix_prefix) - 1 : NULL};
    if (is_unix && strlen(t->unix_path) > BACKEND_PORT_UNIX_PATH_MAX) {
        return fault_set(fault, FAULT_CONFIG, "backend: the path \"%s\" is longer than %d",
                         t->unix_path, BACKEND_PORT_UNIX_PATH_MAX);
    }
    if (!is_unix) {
        t->resolver = name_resolver_start(&target, 1, fault);
    }
    return is_unix || t->resolver != NULL;
}

void backend_target_close(struct backend_target *t)
{
    name_resolver_stop(t->resolver);
    t->resolver = NULL;
}

int backend_target_fd(const struct backend_target *t)
{
    return t->resolver == NULL ? -1 : name_resolver_fd(t->resolver);
}

void backend_target_take(struct backend_target *t, struct backend_port *port)
{
    struct name_answer answer;
    while (t->resolver != NULL && name_resolver_take(t->resolver, &answer)) {
        if (answer.address_count > 0) {
            backend_port_set_addresses(port, answer.address, answer.address_count);
        }
    }
}
