/* sdp_candidate.c - see sdp_candidate.h */
#include "services/transceiver/core/sdp/sdp_candidate.h"

#include "services/transceiver/core/sdp/sdp_writer.h"

/* RFC 8445 s.5.1.2: type preference 126 of a host candidate, local preference 65535 falling,
 * component 1. The step is one of the local preference. */
#define UDP_PRIORITY_FIRST 2130706431u
/* Below all UDP; the local preference says passive (RFC 6544 s.4.2: 4 * 8192 + 8191, falling). */
#define TCP_PRIORITY_FIRST 1671430143u
#define PRIORITY_STEP      256u

/* RFC 8445 s.5.1.1.3: one for each address and transport protocol, whatever the ports. */
static size_t foundation_of(const struct sdp_candidate *candidates, size_t index)
{
    const struct sdp_candidate *candidate = &candidates[index];
    size_t i = 0;
    while (candidates[i].is_tcp != candidate->is_tcp ||
           memcmp(candidates[i].address.ip, candidate->address.ip, sizeof(candidate->address.ip)) !=
               0) {
        i++;
    }
    return i + 1;
}

static void write_candidate(struct byte_writer *w, const struct sdp_candidate *candidate,
                            size_t foundation, uint32_t priority)
{
    /* A scope means nothing to the other side, and "%" is no part of an address in SDP. */
    struct net_addr address = candidate->address;
    address.scope = 0;
    char ip[NET_ADDR_TEXT_CAP];
    sdp_writer_text(w, "a=candidate:");
    sdp_writer_number(w, foundation);
    sdp_writer_text(w, candidate->is_tcp ? " 1 tcp " : " 1 udp ");
    sdp_writer_number(w, priority);
    sdp_writer_text(w, " ");
    sdp_writer_text(w, net_addr_format_ip(&address, ip, sizeof(ip)));
    sdp_writer_number_line(w, " ", address.port,
                           candidate->is_tcp ? " typ host tcptype passive" : " typ host");
}

void sdp_candidates_write(struct byte_writer *w, const struct sdp_candidate *candidates,
                          size_t count)
{
    uint32_t udp_priority = UDP_PRIORITY_FIRST;
    uint32_t tcp_priority = TCP_PRIORITY_FIRST;
    for (size_t i = 0; i < count; i++) {
        uint32_t *priority = candidates[i].is_tcp ? &tcp_priority : &udp_priority;
        write_candidate(w, &candidates[i], foundation_of(candidates, i), *priority);
        *priority -= PRIORITY_STEP;
    }
    sdp_writer_line(w, "a=end-of-candidates", "");
}
