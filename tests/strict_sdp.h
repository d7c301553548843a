/*
 * strict_sdp.h - what a strict client thinks of our answer
 *
 * Reads an answer without any code of the sdp room, as strictly as libwebrtc or more so: CR LF
 * after each line, no blank line, the order of lines, every payload type mapped and in its m-line,
 * candidates whole, credentials where a section is used. Says what is wrong, or NULL.
 */
#ifndef EARSHOT_STRICT_SDP_H
#define EARSHOT_STRICT_SDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRICT_SECTIONS_MAX 8

struct strict_section {
    char media[32];
    unsigned port;
    char protocol[64];
    char format[64][32];
    size_t format_count;
    char mid[64];
    char direction[16];
    char setup[16];
    char ufrag[300];
    char pwd[300];
    bool has_fingerprint;
    bool has_rtcp_mux;
    bool has_connection;
    size_t candidate_count;
    bool candidates_ended;
};

struct strict_sdp {
    bool is_ice_lite;
    char bundle[STRICT_SECTIONS_MAX][64];
    size_t bundle_count;
    struct strict_section section[STRICT_SECTIONS_MAX];
    size_t section_count;
};

static inline bool strict_is_number(const char *text, unsigned long max)
{
    const size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 10 && text[digits] == '\0' && strtoul(text, NULL, 10) <= max;
}

static inline bool strict_has_format(const struct strict_section *s, const char *format)
{
    for (size_t i = 0; i < s->format_count; i++) {
        if (strcmp(s->format[i], format) == 0) {
            return true;
        }
    }
    return false;
}

static inline const char *strict_m_line(struct strict_section *s, const char *value)
{
    char port[8];
    int used = 0;
    if (sscanf(value, "%31[!-~] %7[0-9] %63[!-~]%n", s->media, port, s->protocol, &used) != 3) {
        return "an m-line is not media, port, protocol";
    }
    if (!strict_is_number(port, 65535)) {
        return "a port is out of range";
    }
    s->port = (unsigned)strtoul(port, NULL, 10);
    const char *rest = value + used;
    int len = 0;
    while (s->format_count < 64 &&
           sscanf(rest, " %31[!-~]%n", s->format[s->format_count], &len) == 1) {
        if (rest[0] != ' ' || rest[1] == ' ') {
            return "the formats are not one blank apart";
        }
        rest += len;
        s->format_count++;
    }
    return *rest == '\0' && s->format_count > 0 ? NULL : "an m-line has no formats";
}

static inline const char *strict_payload(const struct strict_section *s, const char *value)
{
    char payload_type[8];
    if (sscanf(value, "%7[0-9] ", payload_type) != 1 || !strict_is_number(payload_type, 127)) {
        return "a payload type is out of range";
    }
    return strict_has_format(s, payload_type) ? NULL : "a payload type is not in its m-line";
}

static inline const char *strict_candidate(struct strict_section *s, const char *value)
{
    char transport[4];
    char priority[12];
    char ip[64];
    char port[8];
    char type[8];
    int used = 0;
    if (sscanf(value, "%*[0-9a-zA-Z] 1 %3s %11[0-9] %63[0-9a-f.:] %7[0-9] typ %7s%n", transport,
               priority, ip, port, type, &used) != 5) {
        return "a candidate cannot be read";
    }
    const bool is_tcp = strcmp(transport, "tcp") == 0;
    const char *rest = is_tcp ? " tcptype passive" : "";
    const bool is_good = (is_tcp || strcmp(transport, "udp") == 0) && strcmp(type, "host") == 0 &&
                         strcmp(value + used, rest) == 0 &&
                         strict_is_number(priority, 2147483647) && strict_is_number(port, 65535);
    s->candidate_count++;
    return is_good && !s->candidates_ended ? NULL : "a candidate is wrong";
}

static inline const char *strict_fingerprint(struct strict_section *s, const char *value)
{
    const char *digest = value + strlen("sha-256 ");
    if (strncmp(value, "sha-256 ", strlen("sha-256 ")) != 0 || strlen(digest) != 32 * 3 - 1) {
        return "a fingerprint is not sha-256";
    }
    for (size_t i = 0; i < 32 * 3 - 1; i++) {
        if (strchr(i % 3 == 2 ? ":" : "0123456789ABCDEF", digest[i]) == NULL) {
            return "a fingerprint is not in capitals and colons";
        }
    }
    s->has_fingerprint = true;
    return NULL;
}

static inline const char *strict_keep(char *out, size_t cap, const char *value)
{
    if (out[0] != '\0' || value[0] == '\0' || strlen(value) >= cap) {
        return "an attribute is empty, too long, or there twice";
    }
    memcpy(out, value, strlen(value) + 1);
    return NULL;
}

static inline const char *strict_media_attribute(struct strict_section *s, const char *name,
                                                 const char *value)
{
    if (strcmp(name, "mid") == 0) {
        return strict_keep(s->mid, sizeof(s->mid), value);
    }
    if (strcmp(name, "ice-ufrag") == 0) {
        return strict_keep(s->ufrag, sizeof(s->ufrag), value);
    }
    if (strcmp(name, "ice-pwd") == 0) {
        return strict_keep(s->pwd, sizeof(s->pwd), value);
    }
    if (strcmp(name, "setup") == 0) {
        return strict_keep(s->setup, sizeof(s->setup), value);
    }
    if (strcmp(name, "fingerprint") == 0) {
        return strict_fingerprint(s, value);
    }
    if (strcmp(name, "candidate") == 0) {
        return strict_candidate(s, value);
    }
    if (strcmp(name, "rtpmap") == 0 || strcmp(name, "fmtp") == 0) {
        return strict_payload(s, value);
    }
    if (strcmp(name, "sendrecv") == 0 || strcmp(name, "sendonly") == 0 ||
        strcmp(name, "recvonly") == 0 || strcmp(name, "inactive") == 0) {
        return strict_keep(s->direction, sizeof(s->direction), name);
    }
    s->has_rtcp_mux |= strcmp(name, "rtcp-mux") == 0;
    s->candidates_ended |= strcmp(name, "end-of-candidates") == 0;
    return NULL;
}

static inline const char *strict_session_attribute(struct strict_sdp *sdp, const char *name,
                                                   const char *value)
{
    sdp->is_ice_lite |= strcmp(name, "ice-lite") == 0;
    if (strcmp(name, "group") != 0) {
        return NULL;
    }
    const char *rest = value + strlen("BUNDLE");
    int len = 0;
    if (strncmp(value, "BUNDLE ", strlen("BUNDLE ")) != 0 || sdp->bundle_count > 0) {
        return "the group is not one BUNDLE";
    }
    while (sdp->bundle_count < STRICT_SECTIONS_MAX &&
           sscanf(rest, " %63[^ ]%n", sdp->bundle[sdp->bundle_count], &len) == 1) {
        rest += len;
        sdp->bundle_count++;
    }
    return *rest == '\0' && sdp->bundle_count > 0 ? NULL : "the BUNDLE group cannot be read";
}

static inline const char *strict_line(struct strict_sdp *sdp, size_t number, char *line)
{
    static const char *const opening[] = {"v=0", "o=", "s=", "t="};
    if (number < 4) {
        return strncmp(line, opening[number], strlen(opening[number])) == 0
                   ? NULL
                   : "the session does not begin with v, o, s, t";
    }
    struct strict_section *s =
        sdp->section_count == 0 ? NULL : &sdp->section[sdp->section_count - 1];
    if (strncmp(line, "m=", 2) == 0) {
        return sdp->section_count < STRICT_SECTIONS_MAX
                   ? strict_m_line(&sdp->section[sdp->section_count++], line + 2)
                   : "too many sections";
    }
    if (s != NULL && strcmp(line, "c=IN IP4 0.0.0.0") == 0) {
        const bool is_second = s->has_connection;
        s->has_connection = true;
        return is_second ? "two c= lines" : NULL;
    }
    if (strncmp(line, "a=", 2) != 0) {
        return "a line of no known type";
    }
    char *name = line + 2;
    char *colon = strchr(name, ':');
    if (colon != NULL) {
        *colon = '\0';
    }
    const char *value = colon == NULL ? "" : colon + 1;
    return s == NULL ? strict_session_attribute(sdp, name, value)
                     : strict_media_attribute(s, name, value);
}

static inline bool strict_is_bundled(const struct strict_sdp *sdp, const char *mid)
{
    for (size_t i = 0; i < sdp->bundle_count; i++) {
        if (strcmp(sdp->bundle[i], mid) == 0) {
            return true;
        }
    }
    return false;
}

static inline const char *strict_whole(const struct strict_sdp *sdp)
{
    size_t bundled_count = 0;
    size_t candidate_sections = 0;
    for (size_t i = 0; i < sdp->section_count; i++) {
        const struct strict_section *s = &sdp->section[i];
        if (!s->has_connection) {
            return "a section has no c= line";
        }
        if (s->port == 0) {
            if (strict_is_bundled(sdp, s->mid)) {
                return "a refused section is in the BUNDLE group";
            }
            continue;
        }
        if (s->ufrag[0] == '\0' || s->pwd[0] == '\0' || !s->has_fingerprint ||
            (strcmp(s->setup, "active") != 0 && strcmp(s->setup, "passive") != 0)) {
            return "a used section has no whole transport";
        }
        if (strcmp(s->media, "audio") == 0 && (!s->has_rtcp_mux || s->direction[0] == '\0')) {
            return "audio has no rtcp-mux or no direction";
        }
        bundled_count += strict_is_bundled(sdp, s->mid);
        candidate_sections += s->candidate_count > 0 && s->candidates_ended;
    }
    if (bundled_count != sdp->bundle_count) {
        return "the BUNDLE group is not the used sections";
    }
    return sdp->is_ice_lite && candidate_sections == 1 ? NULL : "candidates are not in one section";
}

static inline const char *strict_sdp_read(const char *text, size_t len, struct strict_sdp *out)
{
    *out = (struct strict_sdp){0};
    size_t number = 0;
    for (size_t start = 0; start < len; number++) {
        const char *end = memchr(text + start, '\n', len - start);
        char line[1024];
        const size_t line_len = end == NULL ? 0 : (size_t)(end - (text + start)) - 1;
        if (end == NULL || end == text + start || line_len == 0 || line_len >= sizeof(line) ||
            text[start + line_len] != '\r') {
            return "a line is empty or does not end in CR LF";
        }
        memcpy(line, text + start, line_len);
        line[line_len] = '\0';
        if (strlen(line) != line_len || strchr(line, '\r') != NULL) {
            return "a line holds a NUL or a CR";
        }
        const char *problem = strict_line(out, number, line);
        if (problem != NULL) {
            return problem;
        }
        start += line_len + 2;
    }
    return strict_whole(out);
}

#endif
