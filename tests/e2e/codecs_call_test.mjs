// codecs_call_test.mjs - what a real Chromium sends and presses: RED, G.711, a key of two seconds
import { createServer, connect } from 'node:net';

import { openCall, openChromium } from './chromium.mjs';
import { check, metric, sleep, until, useBackend, withSuite } from './suite.mjs';

const tapPort = 7299;
const stubPort = 7200;
const type = { audioIn: 0x20, speech: 0x30, dtmf: 0x31 };
const headerBytes = 32;
const fromRed = 4;

// What the transceiver says to its backend, read on the way to it: docs/backend-protocol.md.
class Tap {
  frames = []; // { type, flags, timeUs, json } of SPEECH and DTMF, and AUDIO_IN without its samples

  #server = createServer((transceiver) => {
    const backend = connect(stubPort, '127.0.0.1');
    let rest = Buffer.alloc(0);
    transceiver.on('data', (bytes) => { rest = this.#read(Buffer.concat([rest, bytes])); });
    transceiver.pipe(backend).pipe(transceiver);
    transceiver.on('error', () => backend.destroy());
    backend.on('error', () => transceiver.destroy());
  });

  open() { return new Promise((done) => this.#server.listen(tapPort, '127.0.0.1', done)); }

  close() { this.#server.close(); }

  of(wanted) { return this.frames.filter((frame) => frame.type === wanted); }

  #read(bytes) {
    while (bytes.length >= headerBytes && bytes.length >= 4 + bytes.readUInt32LE(0)) {
      const end = 4 + bytes.readUInt32LE(0);
      const timeUs = Number(bytes.readBigUInt64LE(16));
      const frame = { type: bytes[5], flags: bytes.readUInt16LE(6), timeUs };
      if (frame.type === type.speech || frame.type === type.dtmf) {
        frame.json = JSON.parse(bytes.subarray(headerBytes, end));
      }
      if (Object.values(type).includes(frame.type)) this.frames.push(frame);
      bytes = bytes.subarray(end);
    }
    return bytes;
  }
}

// Before Talk: the page's offers put this codec first.
const prefer = (mimeType) => `(() => {
  const offer = RTCPeerConnection.prototype.createOffer;
  const set = RTCPeerConnection.prototype.setLocalDescription;
  const sort = (connection) => {
    const codecs = RTCRtpReceiver.getCapabilities('audio').codecs;
    const is = (codec) => codec.mimeType.toLowerCase() === '${mimeType}'.toLowerCase();
    for (const transceiver of connection.getTransceivers()) {
      transceiver.setCodecPreferences(codecs.toSorted((a, b) => is(b) - is(a)));
    }
  };
  RTCPeerConnection.prototype.createOffer = function (...words) {
    sort(this);
    return offer.apply(this, words);
  };
  RTCPeerConnection.prototype.setLocalDescription = function (...words) {
    if (words.length === 0 && this.signalingState === 'stable') sort(this);
    return set.apply(this, words);
  };
})()`;

// A promise of what Chromium sends: its codec and the mean size of a packet.
const sending = `window.connections.at(-1).getStats().then((report) => {
  const all = [...report.values()];
  const out = all.find((s) => s.type === 'outbound-rtp' && s.kind === 'audio');
  const into = all.find((s) => s.type === 'inbound-rtp' && s.kind === 'audio');
  const codecOf = (s) => report.get(s?.codecId)?.mimeType;
  return {
    sends: codecOf(out),
    hears: codecOf(into),
    packets: out.packetsSent,
    bytes: out.bytesSent / out.packetsSent,
  };
})`;

async function hang(page) {
  await page.getByRole('button', { name: 'Hang up' }).click();
  await until('the session ends',
    async () => await metric('transceiver', 'earshot_transceiver_sessions_active') === 0);
  await page.close();
}

async function checkHum(page, what) {
  await until(`the hum comes back over ${what}`, async () =>
    Math.abs(await page.evaluate(() => window.earshot.peakHz) - 440) <= 5);
  check(`the strongest frequency over ${what} is 440 +- 5 Hz`, true);
}

async function checkRed(browser, tap) {
  const page = await openCall(browser);
  await checkHum(page, 'RED');
  const seen = await until('a second of it is sent', async () => {
    const stats = await page.evaluate(sending);
    return stats.packets > 50 && stats;
  });
  // Its statistics name the codec inside of RED. A frame of Opus alone has some 80 bytes.
  check('Chromium sends each frame twice, as RED', seen.sends === 'audio/opus' && seen.bytes > 120,
    seen);
  check('nothing had to be taken out of a copy',
    tap.of(type.audioIn).every((frame) => (frame.flags & fromRed) === 0));
  await hang(page);
}

// What the backend is told of a key that is held for two seconds.
async function pressKey(page, tap) {
  tap.frames.length = 0;
  const canPress = await page.evaluate(() => {
    const [sender] = window.connections.at(-1).getSenders();
    sender.dtmf.insertDTMF('5', 2000);
    return sender.dtmf.canInsertDTMF;
  });
  check('Chromium can press keys', canPress);
  await until('the key is told', () => tap.of(type.dtmf).length > 0);
  await sleep(1000);
  return tap.of(type.dtmf).map((frame) => frame.json);
}

// A browser that a busy machine holds up for 100 ms has let the key go; not each time.
async function checkKey(browser, tap) {
  const page = await openCall(browser);
  await checkHum(page, 'Opus');
  const presses = [];
  const isWhole = (keys) => keys.length === 1 && keys[0].digit === '5' &&
    Math.abs(keys[0].duration_ms - 2000) <= 60;
  while (presses.length < 3 && !presses.some(isWhole)) presses.push(await pressKey(page, tap));
  check('a press of two seconds is one digit', presses.some(isWhole), presses);
  await hang(page);
}

async function checkG711(browser, tap, mimeType) {
  const context = await browser.newContext();
  await context.addInitScript(prefer(mimeType));
  const call = await openCall({ newPage: (options) => context.newPage(options) });
  await checkHum(call, mimeType);
  tap.frames.length = 0;
  const seen = await call.evaluate(sending);
  check(`${mimeType} goes both ways`, seen.sends === mimeType && seen.hears === mimeType, seen);
  await until('a second of it is told', () => tap.of(type.audioIn).length > 50);
  const frames = tap.of(type.audioIn).slice(0, 51);
  const seconds = (frames.at(-1).timeUs - frames[0].timeUs) / 1e6;
  check('the backend gets 50 frames a second of it', Math.abs(50 / seconds - 50) < 2, seconds);
  await hang(call);
  await context.close();
}

const tap = new Tap();
await tap.open();
useBackend(tapPort);
await withSuite(['--mode', 'echo'], async () => {
  const browser = await openChromium();
  await checkRed(browser, tap);
  await checkKey(browser, tap);
  await checkG711(browser, tap, 'audio/PCMU');
  await checkG711(browser, tap, 'audio/PCMA');
  await browser.close();
});
tap.close();
