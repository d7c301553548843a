// counting_agent.mjs - a voice agent of one call in a thread of its own: it says when the call is
// there, and speaks 200 ms of a tone, an utterance by itself, each time it is told to
import { createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const rateHz = 24000;
const sounding = 200; // ms
const type = { hello: 0x01, ping: 0x02, pong: 0x03, start: 0x10, accept: 0x11, audio: 0x21 };

const tone = Buffer.alloc(2 * rateHz * sounding / 1000);
for (let i = 0; i < tone.length / 2; i++) {
  tone.writeInt16LE(Math.round(8000 * Math.sin(2 * Math.PI * 400 * i / rateHz)), 2 * i);
}

// A voice agent of one call, as small as docs/backend-protocol.md lets it be.
class Agent {
  constructor(socket) {
    this.socket = socket;
    this.received = Buffer.alloc(0);
    this.sequences = new Map(); // of each session, 0 = the connection
    this.utterance = 0;
    socket.on('data', (bytes) => this.take(bytes));
  }

  say(kind, session, payload, { utterance = 0, isAudio = false } = {}) {
    const header = Buffer.alloc(32);
    header.writeUInt32LE(28 + payload.length, 0);
    header.set([0xa1, kind], 4);
    header.writeUInt16LE(isAudio ? 0x100 : 0, 6); // LAST
    header.writeUInt32LE(session, 8);
    const sequence = this.sequences.get(session) ?? 0;
    this.sequences.set(session, sequence + 1);
    header.writeUInt32LE(sequence, 12);
    header.writeUInt32LE(utterance, 24);
    if (isAudio) header.set([1, rateHz / 1000, 1, 0], 28);
    this.socket.write(Buffer.concat([header, payload]));
  }

  take(bytes) {
    this.received = Buffer.concat([this.received, bytes]);
    while (this.received.length >= 4) {
      const length = 4 + this.received.readUInt32LE(0);
      if (this.received.length < length) return;
      this.hear(this.received.subarray(0, length));
      this.received = this.received.subarray(length);
    }
  }

  hear(frame) {
    if (frame[5] === type.hello) this.say(type.hello, 0, Buffer.from('{"name":"counter"}'));
    if (frame[5] === type.ping) this.say(type.pong, 0, frame.subarray(32));
    if (frame[5] === type.start) {
      this.session = frame.readUInt32LE(8);
      parentPort.postMessage('call');
      const format = `pcm16/${rateHz}`;
      this.say(type.accept, this.session, Buffer.from(JSON.stringify({ in: format, out: format })));
    }
  }

  speak() {
    this.say(type.audio, this.session, tone, { utterance: ++this.utterance, isAudio: true });
  }
}

let agent = null;
createServer((socket) => { agent = new Agent(socket); }).listen(workerData);
parentPort.on('message', () => agent.speak());
