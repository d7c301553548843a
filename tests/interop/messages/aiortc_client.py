#!/usr/bin/python3
"""aiortc as the client: messages of given sizes on two channels. aiortc_client.py URL SIZE..."""
import asyncio

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from message_kit import Echo, bytes_of, exchange, finish, text_of, watch

pc = None
echoes = []


def open_channel(label, kind, message_of):
    channel = pc.createDataChannel(label)
    echo = Echo(kind, message_of, channel.send)
    channel.on("open", echo.begin)
    channel.on("message", echo.take)
    echoes.append(echo)


async def main():
    global pc
    pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    pc.addTransceiver("audio", "sendrecv")
    open_channel("oai-events", "text", text_of)
    open_channel("chat", "binary", bytes_of)
    watch(echoes)
    await pc.setLocalDescription(await pc.createOffer())
    offer = pc.localDescription.sdp
    answer = await asyncio.get_running_loop().run_in_executor(None, exchange, offer)
    await pc.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    await asyncio.Event().wait()  # the watching thread ends the program


try:
    asyncio.run(main())
except Exception as error:  # whatever it is, it is the verdict
    finish(echoes, error)
