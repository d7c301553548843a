/*
 * own_page.h - whether a request comes from a page that we served ourselves
 *
 * Takes:   the Host and Origin fields of a request, and the name that the page is reached by.
 * Rule:    a browser writes Origin, but any name in Host that leads here. Whoever owns a name can
 *          let it lead here (DNS rebinding), and his page would then be of "our" origin. So the
 *          host must be an IP address, localhost or the name that was configured.
 */
#ifndef EARSHOT_OWN_PAGE_H
#define EARSHOT_OWN_PAGE_H

#include "common/base/bytes.h"

#define OWN_PAGE_NAME_CAP 254

/* name: empty = none. Its case and that of the fields do not count. */
bool own_page_is_source(struct bytes_view host, struct bytes_view origin, const char *name);

#endif
