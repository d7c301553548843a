/* frame_class.c - see frame_class.h */
#include "services/transceiver/port/frame_class.h"

#include "common/backend_link/backend_frame.h"

enum write_class frame_class_of(uint8_t type)
{
    switch (type) {
    case BACKEND_HELLO:
    case BACKEND_PING:
    case BACKEND_PONG:
    case BACKEND_GOAWAY:
    case BACKEND_ERROR:
    case BACKEND_CREDIT:
    case BACKEND_FLUSHED:
        return WRITE_URGENT;
    case BACKEND_AUDIO_IN:
        return WRITE_AUDIO;
    case BACKEND_EVENT:
    case BACKEND_CHANNEL_DATA:
    case BACKEND_NET_STATS:
        return WRITE_MESSAGE;
    default:
        return WRITE_CONTROL;
    }
}
