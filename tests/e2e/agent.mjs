// agent.mjs - a voice agent for tests, which the transceiver dials: it accepts every call, keeps
// what it is told, and says what a test wants (docs/backend-protocol.md)
import { createServer } from 'node:net';

const type = {
  hello: 0x01, ping: 0x02, pong: 0x03, start: 0x10, accept: 0x11, end: 0x13, ended: 0x14,
  audioOut: 0x21, playback: 0x25, dtmf: 0x31, event: 0x40, channelData: 0x41,
};
const last = 0x100;
export const rateHz = 24000;

export class Agent {
  playback = []; // what became of what was said: { utterance, state, ... }
  dtmf = []; // { digit, duration_ms }

  echoes = false; // what comes through data channels goes back as it came

  #socket = null;
  #session = 0; // of the newest call
  #utterance = 0;
  #sequence = {};
  #server = createServer((socket) => this.#serve(socket));
  // Who sends nothing for 3 s counts as dead.
  #timer = setInterval(() => this.#send(0, type.ping, Buffer.alloc(8)), 1000);

  listen(port) {
    return new Promise((done) => this.#server.listen(port, '127.0.0.1', done));
  }

  close() {
    clearInterval(this.#timer);
    this.#server.close();
    this.#socket?.destroy();
  }

  // One utterance: sample(second) gives -1..1. Returns its id.
  say(seconds, sample) {
    const pcm = Buffer.alloc(2 * Math.round(seconds * rateHz));
    for (let i = 0; i < pcm.length / 2; i++) {
      pcm.writeInt16LE(Math.round(32767 * sample(i / rateHz)), 2 * i);
    }
    this.#utterance += 1;
    this.#send(this.#session, type.audioOut, pcm, last, this.#utterance);
    return this.#utterance;
  }

  #send(session, kind, payload, flags = 0, utterance = 0) {
    if (!this.#socket) return;
    this.#sequence[session] = (this.#sequence[session] ?? -1) + 1;
    const words = [28 + payload.length, 0, session, this.#sequence[session], 0, 0, utterance, 0];
    const header = Buffer.from(Uint32Array.from(words).buffer);
    header.set([0xA1, kind, 0, flags >> 8], 4);
    if (kind === type.audioOut) header.set([1, rateHz / 1000, 1], 28);
    this.#socket.write(Buffer.concat([header, payload]));
  }

  #sendJson(session, kind, value) {
    this.#send(session, kind, Buffer.from(JSON.stringify(value)), last);
  }

  #serve(socket) {
    let unread = Buffer.alloc(0);
    this.#socket = socket;
    this.#sequence = {};
    socket.on('error', () => {});
    socket.on('data', (data) => {
      unread = Buffer.concat([unread, data]);
      while (unread.length >= 32 && unread.length >= 4 + unread.readUInt32LE()) {
        const frame = unread.subarray(0, 4 + unread.readUInt32LE());
        unread = unread.subarray(frame.length);
        this.#take(frame[5], frame.readUInt32LE(8), frame.subarray(32), frame.readUInt16LE(6));
      }
    });
  }

  #take(kind, session, payload, flags) {
    if (kind === type.hello) this.#sendJson(0, type.hello, { versions: [1], name: 'test' });
    if (kind === type.ping) this.#send(0, type.pong, payload);
    if (kind === type.start) {
      this.#session = session;
      this.#sendJson(session, type.accept, { in: 'pcm16/24000', out: 'pcm16/24000' });
    }
    if (kind === type.playback) this.playback.push(JSON.parse(payload));
    if (kind === type.dtmf) this.dtmf.push(JSON.parse(payload));
    if (this.echoes && (kind === type.event || kind === type.channelData)) {
      this.#send(session, kind, payload, flags);
    }
    if (kind === type.end) this.#sendJson(session, type.ended, {});
  }
}
