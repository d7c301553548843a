/* flow_cache_text.c - see flow_cache_text.h */
#include "services/relay/core/flow_cache_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool has_text(const struct net_addr *address)
{
    return address->scope == 0 && address->port != 0;
}

bool flow_cache_write_key(const struct flow_cache_key *key, char out[FLOW_CACHE_KEY_CAP])
{
    char ip[NET_ADDR_TEXT_CAP];
    if (!has_text(&key->client)) {
        return false;
    }
    const int len = snprintf(out, FLOW_CACHE_KEY_CAP, "earshot:flow:%u:%s:%s|%u", key->cluster_id,
                             key->is_tcp ? "tcp" : "udp",
                             net_addr_format_ip(&key->client, ip, sizeof(ip)), key->client.port);
    assert(len > 0 && len < FLOW_CACHE_KEY_CAP);
    return true;
}

bool flow_cache_write_value(const struct cached_flow *flow,
                            char out[FLOW_CACHE_VALUE_BYTES_MAX + 1])
{
    char ip[NET_ADDR_TEXT_CAP];
    if (!has_text(&flow->next_hop)) {
        return false;
    }
    const int len =
        snprintf(out, FLOW_CACHE_VALUE_BYTES_MAX + 1, "%04x|%08" PRIx32 "|%08" PRIx32 "|%s|%u",
                 flow->cluster_id, flow->instance_id, flow->session_id,
                 net_addr_format_ip(&flow->next_hop, ip, sizeof(ip)), flow->next_hop.port);
    assert(len > 0 && len <= FLOW_CACHE_VALUE_BYTES_MAX);
    return true;
}

/* The field before the next '|', or the rest; moves on. No field is longer than an address. */
static bool take_field(const char **text, char field[NET_ADDR_TEXT_CAP])
{
    const size_t len = strcspn(*text, "|");
    if (len >= NET_ADDR_TEXT_CAP) {
        return false;
    }
    memcpy(field, *text, len);
    field[len] = '\0';
    *text += len + ((*text)[len] == '|' ? 1 : 0);
    return true;
}

static bool read_hex(const char **text, uint8_t *out, size_t out_len)
{
    char field[NET_ADDR_TEXT_CAP];
    return take_field(text, field) && bytes_from_hex(bytes_view_of_text(field), out, out_len);
}

static bool read_next_hop(const char **text, struct net_addr *out)
{
    char ip[NET_ADDR_TEXT_CAP];
    char port[NET_ADDR_TEXT_CAP];
    if (!take_field(text, ip) || !take_field(text, port)) {
        return false;
    }
    const size_t digits = strspn(port, "0123456789");
    if (digits < 1 || digits > 5 || port[digits] != '\0') {
        return false;
    }
    const unsigned long number = strtoul(port, NULL, 10);
    return number <= UINT16_MAX && net_addr_parse_ip(ip, (uint16_t)number, out);
}

bool flow_cache_read_value(struct bytes_view text, struct cached_flow *out)
{
    char copy[FLOW_CACHE_VALUE_BYTES_MAX + 1] = {0};
    char again[FLOW_CACHE_VALUE_BYTES_MAX + 1];
    uint8_t number[10];
    struct byte_reader r;
    if (text.len == 0 || text.len > FLOW_CACHE_VALUE_BYTES_MAX) {
        return false;
    }
    memcpy(copy, text.data, text.len);
    const char *rest = copy;
    if (!read_hex(&rest, number, 2) || !read_hex(&rest, number + 2, 4) ||
        !read_hex(&rest, number + 6, 4)) {
        return false;
    }
    byte_reader_init(&r, bytes_view_of(number, sizeof(number)));
    *out = (struct cached_flow){.cluster_id = byte_reader_u16(&r)};
    out->instance_id = byte_reader_u32(&r);
    out->session_id = byte_reader_u32(&r);
    /* One flow has one text: capital digits, zeros in front, another form of the address, a NUL or
     * bytes behind are not what we wrote. */
    return read_next_hop(&rest, &out->next_hop) && flow_cache_write_value(out, again) &&
           bytes_equal(text, bytes_view_of_text(again));
}
