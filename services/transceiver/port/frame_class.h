/*
 * frame_class.h - which frames to a backend go before which
 */
#ifndef EARSHOT_FRAME_CLASS_H
#define EARSHOT_FRAME_CLASS_H

#include <stdint.h>

/* From the first to the last. */
enum write_class {
    WRITE_URGENT,  /* FLUSHED, CREDIT, ERROR, PING, PONG; and HELLO, GOAWAY */
    WRITE_CONTROL, /* SPEECH, PLAYBACK, SESSION_*, CONNECTED, DTMF, SIDEBAND */
    WRITE_AUDIO,
    WRITE_MESSAGE, /* EVENT, CHANNEL_DATA, NET_STATS */
    WRITE_CLASSES
};

/* type: enum backend_frame_type, or any other number. */
enum write_class frame_class_of(uint8_t type);

#endif
