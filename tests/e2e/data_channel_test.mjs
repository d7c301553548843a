// data_channel_test.mjs - data channels of real browsers: what passes, how many, and the quiet end
import { Agent } from './agent.mjs';
import { openChromium } from './chromium.mjs';
import { openFirefox } from './marionette.mjs';
import { check, metric, pageUrl, until, useBackend, withSuite } from './suite.mjs';

const agentPort = 7299;
const sizes = [0, 1, 1200, 65536, 262144];
const channelsMax = 16;

// For the page: a call with an event channel, made as an application would; `call` holds it.
// stream: agreed on with the call's URL; null: opened in-band.
const begin = (stream = null) => `(async () => {
  const pc = new RTCPeerConnection();
  const { mediaDevices } = navigator;
  const [track] = (await mediaDevices.getUserMedia({ audio: true })).getAudioTracks();
  pc.addTrack(track);
  const agreed = { negotiated: true, id: ${stream} };
  const events = pc.createDataChannel('oai-events', ${stream === null ? '{}' : 'agreed'});
  window.call = { pc, events, log: [], got: [] };
  const note = (what) => window.call.log.push({ what, ms: performance.now() });
  events.onclose = () => note('close');
  events.onerror = ({ error }) => note('error ' + error.message);
  pc.onconnectionstatechange = () => note(pc.connectionState);
  events.onmessage = ({ data }) => window.call.got.push(data);
  await pc.setLocalDescription();
  const secret = await fetch('/demo/secret', { method: 'POST' });
  const key = secret.ok ? (await secret.json()).value : '';
  const headers = { 'content-type': 'application/sdp' };
  if (key) headers.authorization = 'Bearer ' + key;
  const answer = await fetch('/v1/realtime/calls${stream === null ? '' : `?dcid=${stream}`}',
    { method: 'POST', headers, body: pc.localDescription.sdp });
  window.call.resource = answer.headers.get('location');
  window.call.headers = headers;
  await pc.setRemoteDescription({ type: 'answer', sdp: await answer.text() });
  await new Promise((open) => { events.onopen = open; });
  return pc.sctp.maxMessageSize;
})()`;

// A promise of what came back of messages of these sizes, on this channel: their lengths, or what
// differs.
const echoed = (channel, text) => `(async () => {
  const channel = ${channel};
  channel.binaryType = 'arraybuffer';
  const seen = [];
  for (const size of ${JSON.stringify(sizes)}) {
    const wanted = ${text} ? 'x'.repeat(size)
      : Uint8Array.from({ length: size }, (_, i) => i % 251).buffer;
    const came = new Promise((resolve) => { channel.onmessage = ({ data }) => resolve(data); });
    channel.send(wanted);
    const data = await came;
    const equal = ${text} ? data === wanted
      : new Uint8Array(data).every((byte, i) => byte === i % 251);
    seen.push(equal ? data.length ?? data.byteLength : 'differs');
  }
  return seen;
})()`;

// A promise of how many channels opened and closed, one after the other.
const oneByOne = `(async () => {
  let count = 0;
  for (let i = 0; i < 100; i++) {
    const channel = window.call.pc.createDataChannel('one by one');
    await new Promise((open) => { channel.onopen = open; });
    channel.close();
    await new Promise((closed) => { channel.onclose = closed; });
    count++;
  }
  return count;
})()`;

// A promise of what became of a hundred that are opened at once: those that stay open answer.
const atOnce = `(async () => {
  const channels = Array.from({ length: 100 }, () => window.call.pc.createDataChannel('many'));
  const fates = await Promise.all(channels.map((channel) => new Promise((fate) => {
    channel.onopen = () => channel.send('here');
    channel.onmessage = () => fate('open');
    channel.onclose = () => fate('closed');
    channel.onerror = ({ error }) => fate('error ' + error.message);
  })));
  channels.forEach((channel) => { channel.onclose = null; channel.close(); });
  return { open: fates.filter((f) => f === 'open').length,
    closed: fates.filter((f) => f === 'closed').length };
})()`;

const eventsEcho = `new Promise((resolve) => {
  window.call.events.onmessage = ({ data }) => resolve(data);
  window.call.events.send('still there');
})`;

const openChat = `new Promise((resolve) => {
  window.call.chat = window.call.pc.createDataChannel('chat');
  window.call.chat.onopen = () => resolve(true);
})`;

const hangUp = `fetch(window.call.resource + '/hangup',
  { method: 'POST', headers: { authorization: window.call.headers.authorization ?? '' } })
  .then((answer) => answer.status)`;

const sessions = () => metric('transceiver', 'earshot_transceiver_sessions_active');

async function tryBrowser(name, browser) {
  const claim = (text, holds, seen) => check(`${name}: ${text}`, holds, seen);
  const limit = await browser.evaluateAsync(begin());
  claim('the answer says how long a message may be', limit === 262144, limit);
  const texts = await browser.evaluateAsync(echoed('window.call.events', true));
  claim('texts of all sizes pass both ways', `${texts}` === `${sizes}`, texts);
  await browser.evaluateAsync(openChat);
  const binary = await browser.evaluateAsync(echoed('window.call.chat', false));
  claim('binary messages of another channel too', `${binary}` === `${sizes}`, binary);
  await browser.evaluate('window.call.chat.close()');
  const count = await browser.evaluateAsync(oneByOne);
  claim('a hundred channels, one after the other', count === 100, count);
  const fates = await browser.evaluateAsync(atOnce);
  claim('of a hundred at once those open that there is room for, the others close without an error',
    fates.open === channelsMax - 1 && fates.open + fates.closed === 100, fates);
  claim('the event channel has lived through it',
    await browser.evaluateAsync(eventsEcho) === 'still there');

  const status = await browser.evaluateAsync(hangUp);
  claim('hangup is answered', status === 200, status);
  await until('the connection fails', () => browser.evaluate(
    `['failed', 'closed', 'disconnected'].includes(window.call.pc.connectionState)`), 3000);
  const log = await browser.evaluate('window.call.log');
  const words = log.map(({ what }) => what);
  claim('its channel closes, without an error, before the connection fails',
    words.indexOf('close') >= 0 && words.indexOf('close') < words.indexOf('failed') &&
    !words.some((word) => word.startsWith('error')), log);
  await until('the session is gone', async () => await sessions() === 0, 3000);

  await browser.evaluateAsync(begin(6));
  claim('a channel agreed on with ?dcid=6 is the event channel',
    await browser.evaluateAsync(eventsEcho) === 'still there');
  await browser.evaluate('window.call.events.close()');
  await until('the session is gone', async () => await sessions() === 0, 3000);
  const ended = await metric('transceiver', 'earshot_transceiver_sessions_ended_total',
    'reason="client_closed"');
  claim('closing the event channel ends the call', ended >= 1, ended);
}

const agent = new Agent();
agent.echoes = true;
await agent.listen(agentPort);
useBackend(agentPort);
await withSuite([], async () => {
  const chromium = await openChromium();
  const page = await chromium.newPage();
  await page.goto(`${pageUrl}?echo=1`);
  await tryBrowser('Chromium', {
    evaluate: (expression) => page.evaluate(expression),
    evaluateAsync: (expression) => page.evaluate(expression),
  });
  await chromium.close();

  const firefox = await openFirefox();
  await firefox.goto(`${pageUrl}?echo=1`);
  await tryBrowser('Firefox', firefox);
  await firefox.close();
});
agent.close();
