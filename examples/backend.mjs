// A voice agent in one file: it says your last turn back, and stops when you speak into it.
// earshot dials in. Both sides write frames, a header of 32 bytes and then samples or JSON; all of
// them are in docs/backend-protocol.md. Where speech() answers, a real agent asks its model.
import { createServer } from 'node:net';

const [HELLO, PING, PONG, START, ACCEPT, END, ENDED] = [0x01, 0x02, 0x03, 0x10, 0x11, 0x13, 0x14];
const [AUDIO_IN, AUDIO_OUT, CREDIT, FLUSH, SPEECH] = [0x20, 0x21, 0x22, 0x23, 0x30];
const LAST = 0x100; // flag: the end of an utterance, or of a message
const [format, bytesPerMs] = ['pcm16/24000', 2 * 24];
const keepUs = 300_000; // from before speech was noticed: words begin softly

class Call {
  heard = []; // { timeUs, samples }
  unsaid = Buffer.alloc(0);
  utterance = 0; // what we say has a number, one more each time
  saidMs = 0;

  listen(timeUs, samples) { // a frame is 20 ms: keeps a minute of a turn, else a second
    this.heard = [...this.heard.slice(this.userSpeaks ? -3000 : -50), { timeUs, samples }];
  }

  speech(state, timeUs) {
    this.userSpeaks = state === 'started';
    if (this.userSpeaks) {
      this.unsaid = Buffer.alloc(0);
      this.send(FLUSH, '', 0, this.utterance); // earshot drops what it has of ours, at once
      this.heard = this.heard.filter((frame) => frame.timeUs >= timeUs - keepUs);
    } else {
      this.utterance += 1;
      this.unsaid = Buffer.concat(this.heard.map((frame) => frame.samples));
      this.say(this.limitMs);
    }
  }

  say(limitMs) { // as much as there is room for: earshot plays it at the right speed, not we
    for (this.limitMs = limitMs; this.unsaid.length && this.saidMs + 100 <= limitMs;) {
      const samples = this.unsaid.subarray(0, 100 * bytesPerMs);
      this.unsaid = this.unsaid.subarray(samples.length);
      this.send(AUDIO_OUT, samples, this.unsaid.length ? 0 : LAST, this.utterance);
      this.saidMs += samples.length / bytesPerMs;
    }
  }
}

createServer((socket) => {
  const [calls, sent] = [{}, {}];
  const timer = setInterval(() => send(0, PING, '8 bytes.'), 1000); // silent for 3 s: dead
  let unread = Buffer.alloc(0);
  function send(session, type, payload, flags = 0, utterance = 0) {
    const number = sent[session] = (sent[session] ?? -1) + 1;
    const words = Uint32Array.of(28 + payload.length, 0, session, number, 0, 0, utterance, 0);
    const header = Buffer.from(words.buffer);
    header.set([0xA1, type, 0, flags >> 8], 4);
    if (type === AUDIO_OUT) header.set([1, 24, 1], 28); // PCM16, kHz, channels
    socket.write(Buffer.concat([header, Buffer.from(payload)]));
  }
  function take(type, session, timeUs, duration, payload) {
    if (type === HELLO) send(0, HELLO, '{"versions": [1], "name": "example"}', LAST);
    if (type === PING) send(0, PONG, payload);
    if (type === START) {
      calls[session] = Object.assign(new Call(), { send: send.bind(null, session) });
      calls[session].say(JSON.parse(payload).credit_us / 1000);
      send(session, ACCEPT, `{"in": "${format}", "out": "${format}"}`, LAST);
    }
    const samples = payload.length ? payload : Buffer.alloc(2.5 * duration * bytesPerMs); // silence
    if (type === AUDIO_IN) calls[session].listen(timeUs, samples);
    if (type === SPEECH) calls[session].speech(JSON.parse(payload).state, timeUs);
    if (type === CREDIT) calls[session].say(Number(payload.readBigUInt64LE()) / 1000);
    if (type === END) send(session, ENDED, '{}', LAST), delete calls[session], delete sent[session];
  }
  socket.on('error', () => {}).on('close', () => clearInterval(timer)).on('data', (data) => {
    unread = Buffer.concat([unread, data]);
    while (unread.length >= 32 && unread.length >= 4 + unread.readUInt32LE()) {
      const frame = unread.subarray(0, 4 + unread.readUInt32LE());
      unread = unread.subarray(frame.length);
      const [session, timeUs] = [frame.readUInt32LE(8), Number(frame.readBigUInt64LE(16))];
      take(frame[5], session, timeUs, frame[31], frame.subarray(32));
    }
  });
}).listen(process.argv[2] ?? 7200, '127.0.0.1');
