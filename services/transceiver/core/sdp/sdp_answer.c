/* sdp_answer.c - see sdp_answer.h */
#include "services/transceiver/core/sdp/sdp_answer.h"

#include "services/transceiver/core/sdp/sdp_writer.h"

#include <assert.h>

/* An address of no meaning, with port 9: the candidates say where we are (RFC 8839 s.4.2.5). */
#define NOWHERE      "IN IP4 0.0.0.0"
#define NOWHERE_PORT 9

/* The number of streams in the legacy form; SCTP itself negotiates the one that holds. */
#define LEGACY_SCTPMAP " webrtc-datachannel 1024"

struct answer_writer {
    const struct sdp_offer *offer;
    const struct sdp_answer *answer;
    struct byte_writer text;
};

static void line(struct answer_writer *w, const char *name, const char *value)
{
    sdp_writer_line(&w->text, name, value);
}

static void number_line(struct answer_writer *w, const char *name, uint64_t number,
                        const char *rest)
{
    sdp_writer_number_line(&w->text, name, number, rest);
}

static bool is_sending(const struct sdp_section *s)
{
    return s->direction == SDP_SENDRECV || s->direction == SDP_RECVONLY;
}

static const char *mirrored(enum sdp_direction direction)
{
    static const char *const attribute[] = {
        [SDP_SENDRECV] = "a=sendrecv",
        [SDP_SENDONLY] = "a=recvonly",
        [SDP_RECVONLY] = "a=sendonly",
        [SDP_INACTIVE] = "a=inactive",
    };
    return attribute[direction];
}

/* RFC 9143 s.7.3: the offer's group without what is refused. */
static void write_bundle(struct answer_writer *w)
{
    bool is_begun = false;
    for (size_t i = 0; i < w->offer->bundle_count; i++) {
        const struct sdp_section *s = &w->offer->section[w->offer->bundle[i]];
        if (s->is_accepted) {
            sdp_writer_text(&w->text, is_begun ? " " : "a=group:BUNDLE ");
            sdp_writer_text(&w->text, s->mid);
            is_begun = true;
        }
    }
    if (is_begun) {
        line(w, "", "");
    }
}

static void write_session_level(struct answer_writer *w)
{
    line(w, "v=0", "");
    number_line(w, "o=- ", w->answer->origin_id, " 1 " NOWHERE);
    line(w, "s=-", "");
    line(w, "t=0 0", "");
    line(w, "a=ice-lite", "");
    write_bundle(w);
    if (w->offer->has_extmap_allow_mixed &&
        (w->offer->extmap_audio_level != 0 || w->offer->extmap_mid != 0)) {
        line(w, "a=extmap-allow-mixed", "");
    }
    if (w->offer->has_audio) {
        line(w, "a=msid-semantic: WMS earshot", "");
    }
}

/* By RFC 9143 s.7.1.3 one section alone has these. But aiortc takes no answer in which any section
 * lacks them, a refused one too; others take no harm. */
static void write_credentials(struct answer_writer *w)
{
    line(w, "a=ice-ufrag:", w->answer->ice_ufrag);
    line(w, "a=ice-pwd:", w->answer->ice_pwd);
    line(w, "a=setup:", w->answer->setup_active ? "active" : "passive");
}

/* The candidates stand once, in the section whose transport is used. */
static void write_transport(struct answer_writer *w, size_t index)
{
    write_credentials(w);
    if (index == w->offer->transport_section) {
        sdp_candidates_write(&w->text, w->answer->candidate, w->answer->candidate_count);
    }
    sdp_writer_text(&w->text, "a=fingerprint:sha-256 ");
    sdp_writer_digest(&w->text, bytes_view_of(w->answer->fingerprint_sha256,
                                              sizeof(w->answer->fingerprint_sha256)));
    line(w, "", "");
}

static void write_mid(struct answer_writer *w, const struct sdp_section *s)
{
    if (s->mid[0] != '\0') {
        line(w, "a=mid:", s->mid);
    }
}

static void write_m_line(struct answer_writer *w, const struct sdp_section *s, uint16_t port)
{
    sdp_writer_text(&w->text, "m=");
    sdp_writer_text(&w->text, s->media_word);
    sdp_writer_text(&w->text, " ");
    sdp_writer_number(&w->text, port);
    sdp_writer_text(&w->text, " ");
    sdp_writer_text(&w->text, s->protocol);
}

static void write_payload_type(struct answer_writer *w, uint8_t payload_type)
{
    sdp_writer_text(&w->text, " ");
    sdp_writer_number(&w->text, payload_type);
}

static void write_extmaps(struct answer_writer *w)
{
    if (w->offer->extmap_audio_level != 0) {
        number_line(w, "a=extmap:", w->offer->extmap_audio_level,
                    " urn:ietf:params:rtp-hdrext:ssrc-audio-level");
    }
    if (w->offer->extmap_mid != 0) {
        number_line(w, "a=extmap:", w->offer->extmap_mid, " urn:ietf:params:rtp-hdrext:sdes:mid");
    }
}

/* RED stands first: a client sends with the first format that it can. */
static void write_audio_formats(struct answer_writer *w)
{
    if (w->offer->has_red) {
        write_payload_type(w, w->offer->red_payload_type);
    }
    write_payload_type(w, w->offer->audio_payload_type);
    if (w->offer->has_telephone_event) {
        write_payload_type(w, w->offer->telephone_event_payload_type);
    }
    line(w, "", "");
}

static void write_red(struct answer_writer *w)
{
    number_line(w, "a=rtpmap:", w->offer->red_payload_type, " red/48000/2");
    sdp_writer_text(&w->text, "a=fmtp:");
    sdp_writer_number(&w->text, w->offer->red_payload_type);
    sdp_writer_text(&w->text, " ");
    sdp_writer_number(&w->text, w->offer->audio_payload_type);
    number_line(w, "/", w->offer->audio_payload_type, "");
}

static void write_voice(struct answer_writer *w)
{
    static const char *const encoding[VOICE_CODEC_COUNT] = {
        [VOICE_CODEC_OPUS] = " opus/48000/2",
        [VOICE_CODEC_PCMU] = " PCMU/8000",
        [VOICE_CODEC_PCMA] = " PCMA/8000",
    };
    number_line(w, "a=rtpmap:", w->offer->audio_payload_type, encoding[w->offer->audio_codec]);
    if (w->offer->audio_codec == VOICE_CODEC_OPUS) {
        number_line(w, "a=fmtp:", w->offer->audio_payload_type,
                    " minptime=10;useinbandfec=1;stereo=0;sprop-stereo=0;"
                    "maxaveragebitrate=32000;usedtx=0");
    }
    if (w->offer->has_nack) {
        number_line(w, "a=rtcp-fb:", w->offer->audio_payload_type, " nack");
    }
}

static void write_codecs(struct answer_writer *w)
{
    if (w->offer->has_red) {
        write_red(w);
    }
    write_voice(w);
    if (w->offer->has_telephone_event) {
        const bool is_48khz = voice_codec_clock_hz(w->offer->audio_codec) == 48000;
        number_line(w, "a=rtpmap:", w->offer->telephone_event_payload_type,
                    is_48khz ? " telephone-event/48000" : " telephone-event/8000");
    }
    line(w, "a=ptime:20", "");
    line(w, "a=maxptime:60", "");
}

static void write_audio(struct answer_writer *w, size_t index)
{
    const struct sdp_section *s = &w->offer->section[index];
    write_m_line(w, s, NOWHERE_PORT);
    write_audio_formats(w);
    line(w, "c=", NOWHERE);
    write_transport(w, index);
    write_mid(w, s);
    write_extmaps(w);
    line(w, mirrored(s->direction), "");
    if (is_sending(s)) {
        line(w, "a=msid:earshot audio0", "");
    }
    line(w, "a=rtcp-mux", "");
    if (w->offer->has_rtcp_rsize) {
        line(w, "a=rtcp-rsize", "");
    }
    write_codecs(w);
    if (is_sending(s)) {
        number_line(w, "a=ssrc:", w->answer->ssrc, " cname:earshot");
    }
}

static void write_data(struct answer_writer *w, size_t index)
{
    const struct sdp_section *s = &w->offer->section[index];
    const bool is_legacy = w->offer->is_legacy_sctpmap;
    write_m_line(w, s, NOWHERE_PORT);
    if (is_legacy) {
        number_line(w, " ", SDP_ANSWER_SCTP_PORT, "");
    } else {
        line(w, " ", s->format);
    }
    line(w, "c=", NOWHERE);
    write_transport(w, index);
    write_mid(w, s);
    number_line(w, is_legacy ? "a=sctpmap:" : "a=sctp-port:", SDP_ANSWER_SCTP_PORT,
                is_legacy ? LEGACY_SCTPMAP : "");
    number_line(w, "a=max-message-size:", w->answer->max_message_bytes, "");
}

/* RFC 9429 s.5.3.1: a section that is not used keeps its place, with port 0. */
static void write_refused(struct answer_writer *w, const struct sdp_section *s)
{
    write_m_line(w, s, 0);
    line(w, " ", s->format);
    line(w, "c=", NOWHERE);
    write_credentials(w);
    write_mid(w, s);
    line(w, "a=inactive", "");
    if (s->media == SDP_MEDIA_AUDIO || s->media == SDP_MEDIA_VIDEO) {
        line(w, "a=rtcp-mux", "");
    }
}

size_t sdp_answer_write(const struct sdp_offer *offer, const struct sdp_answer *answer, char *text,
                        size_t cap)
{
    assert(answer->candidate_count <= SDP_CANDIDATES_MAX);
    struct answer_writer w = {.offer = offer, .answer = answer};
    byte_writer_init(&w.text, text, cap);
    write_session_level(&w);
    for (size_t i = 0; i < offer->section_count; i++) {
        const struct sdp_section *s = &offer->section[i];
        if (!s->is_accepted) {
            write_refused(&w, s);
        } else if (s->media == SDP_MEDIA_AUDIO) {
            write_audio(&w, i);
        } else {
            write_data(&w, i);
        }
    }
    return w.text.failed ? 0 : w.text.len;
}
