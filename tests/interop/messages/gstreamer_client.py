#!/usr/bin/python3
"""GStreamer's webrtcbin as the client: messages of given sizes on two channels.

gstreamer_client.py URL SIZE...
"""
import threading

import gi

for library in ("Gst", "GstSdp", "GstWebRTC"):
    gi.require_version(library, "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # noqa: E402
from message_kit import Echo, bytes_of, exchange, finish, text_of, watch  # noqa: E402

SEND = ("audiotestsrc is-live=true wave=silence ! audio/x-raw,rate=48000,channels=1 ! opusenc"
        " ! rtpopuspay pt=111 ! capsfilter"
        " caps=application/x-rtp,media=audio,encoding-name=OPUS,payload=111")
MAX_BUNDLE = 3

Gst.init(None)
pipeline = Gst.Pipeline()
peer = Gst.ElementFactory.make("webrtcbin", "peer")
echoes = []
kept = []  # objects that must outlive their callback
posted = threading.Event()


def quiet_upnp():
    """libnice looks for gateways by multicast otherwise."""
    kept.append(peer.get_property("ice-agent"))
    kept.append(kept[-1].get_property("agent"))
    kept[-1].set_property("upnp", False)


def open_channel(label, kind, message_of):
    channel = peer.emit("create-data-channel", label, None)
    is_text = kind == "text"

    def send(message):
        if is_text:
            channel.emit("send-string", message)
        else:
            channel.emit("send-data", GLib.Bytes.new(message))

    def take_bytes(_channel, data):
        echo.take(data.get_data() or b"" if data is not None else b"")

    echo = Echo(kind, message_of, send)
    channel.connect("on-open", lambda _channel: echo.begin())
    if is_text:
        channel.connect("on-message-string", lambda _channel, text: echo.take(text or ""))
    else:
        channel.connect("on-message-data", take_bytes)
    kept.append(channel)
    echoes.append(echo)


def on_offer(promise, *_):
    reply = promise.get_reply()
    offer = reply.get_value("offer")
    kept.extend([promise, reply, offer])  # the reply owns the offer
    peer.emit("set-local-description", offer, Gst.Promise.new())


def on_negotiation_needed(*_):
    peer.emit("create-offer", None, Gst.Promise.new_with_change_func(on_offer, None, None))


def on_gathering(*_):
    state = peer.get_property("ice-gathering-state")
    if state == GstWebRTC.WebRTCICEGatheringState.COMPLETE and not posted.is_set():
        posted.set()
        threading.Thread(target=post_offer, daemon=True).start()


def post_offer():
    try:
        answer = exchange(peer.get_property("local-description").sdp.as_text())
        _, message = GstSdp.SDPMessage.new()
        GstSdp.sdp_message_parse_buffer(answer.encode(), message)
        description = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER,
                                                            message)
        peer.emit("set-remote-description", description, Gst.Promise.new())
    except Exception as error:  # whatever it is, it is the verdict
        finish(echoes, error)


pipeline.add(peer)
source = Gst.parse_bin_from_description(SEND, True)
pipeline.add(source)
source.link(peer)
peer.set_property("bundle-policy", MAX_BUNDLE)
quiet_upnp()
peer.connect("notify::ice-gathering-state", on_gathering)
peer.connect("on-negotiation-needed", on_negotiation_needed)
pipeline.set_state(Gst.State.READY)
open_channel("oai-events", "text", text_of)
open_channel("chat", "binary", bytes_of)
watch(echoes)
pipeline.set_state(Gst.State.PLAYING)
GLib.MainLoop().run()
