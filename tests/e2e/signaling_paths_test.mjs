// signaling_paths_test.mjs - other ways to a call, WHIP and a WebSocket; who is kept out of it
import { openChromium } from './chromium.mjs';
import { addTenant, ask, baseUrl, secret } from './sdk_kit.mjs';
import { apiKey, check, metric, pageUrl, until, withSuite } from './suite.mjs';

const shortLifeS = 10; // the least that can be asked for

// In the page: a connection that plays what it hears, as any WHIP client makes one.
async function offer() {
  const connection = new RTCPeerConnection();
  const context = new AudioContext();
  const tone = new OscillatorNode(context, { frequency: 440 });
  const sink = context.createMediaStreamDestination();
  tone.connect(sink);
  tone.start();
  connection.addTrack(sink.stream.getAudioTracks()[0], sink.stream);
  await connection.setLocalDescription(await connection.createOffer());
  window.connection = connection;
  return connection.localDescription.sdp;
}

const answer = (page, sdp) => page.evaluate(
  (text) => window.connection.setRemoteDescription({ type: 'answer', sdp: text }), sdp);
const state = (page) => page.evaluate(() => window.connection.connectionState);
const received = (page) => page.evaluate(async () =>
  [...(await window.connection.getStats()).values()]
    .find((s) => s.type === 'inbound-rtp')?.packetsReceived ?? 0);

// New credentials, as RFC 9725 section 4.3 wants them.
async function restart(page, url, key) {
  const before = await page.evaluate(() => window.connection.remoteDescription.sdp);
  const own = await page.evaluate(async () => {
    const fresh = await window.connection.createOffer({ iceRestart: true });
    await window.connection.setLocalDescription(fresh);
    return fresh.sdp;
  });
  const line = (text, name) => new RegExp(`^a=${name}:.*$`, 'm').exec(text)[0].trim();
  const names = ['ice-ufrag', 'ice-pwd'];
  const response = await ask('PATCH', url, {
    key,
    headers: { 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': '*' },
    body: names.map((name) => `${line(own, name)}\r\n`).join(''),
  });
  const sdp = names.reduce((text, name) =>
    text.replace(new RegExp(`^a=${name}:.*$`, 'gm'), line(response.text, name)), before);
  await answer(page, sdp);
  return response;
}

async function checkWhip(page, key, other) {
  const sdp = await page.evaluate(offer);
  const headers = { 'Content-Type': 'application/sdp' };
  const made = await ask('POST', '/realtime/calls', { key, headers, body: sdp });
  const location = made.headers.get('Location');
  const path = location.slice('/v1'.length);
  check('POST: 201, a Location, an ETag', made.status === 201 && location.includes('/rtc_') &&
    /^"/.test(made.headers.get('ETag')), made.status);
  check('no Link', made.headers.get('Link') === null);
  await answer(page, made.text);
  await until('it connects', async () => await state(page) === 'connected');
  await until('it hears', async () => await received(page) > 50);

  for (const [method, words] of [['PATCH', { body: '', headers: {
    'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': '*' } }], ['DELETE', {}]]) {
    const { status, json } = await ask(method, path, { ...words, key: other });
    check(`${method} by another tenant: 404`, status === 404 &&
      json.error.code === 'call_id_not_found', [status, json]);
    check(`${method} without a key: 401`, (await ask(method, path, { ...words, key: '' }))
      .status === 401);
  }
  const patched = await restart(page, path, key);
  check('PATCH: 200, another ETag', patched.status === 200 &&
    patched.headers.get('ETag') !== made.headers.get('ETag'), patched.status);
  const before = await received(page);
  await until('it goes on', async () => await received(page) > before + 50);
  const stale = await ask('PATCH', path, { key, body: 'a=end-of-candidates\r\n', headers: {
    'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': made.headers.get('ETag') } });
  check('PATCH of an old ETag: 412', stale.status === 412, stale.status);

  check('DELETE: 200', (await ask('DELETE', path, { key })).status === 200);
  await until('the call is over', async () => await state(page) === 'failed');
  await until('and gone', async () => (await ask('DELETE', path, { key })).status === 404);
  const options = await ask('OPTIONS', '/realtime/calls', { key: '' });
  check('OPTIONS need no key', [200, 204].includes(options.status), options.status);
}

// In the page: a call by the WebSocket, ended by it; every message of the server.
async function callBySocket({ url, key, sdp }) {
  const socket = new WebSocket(url, 'earshot.signal.v1');
  window.messages = [];
  window.socket = socket;
  socket.onmessage = ({ data }) => window.messages.push(JSON.parse(data));
  socket.onclose = ({ code }) => { window.closeCode = code; };
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('the socket does not open'));
  });
  socket.send(JSON.stringify({ type: 'offer', sdp, key }));
  return socket.protocol;
}

async function checkSocket(page, key) {
  const sdp = await page.evaluate(offer);
  const url = `${baseUrl.replace(/^http/, 'ws')}/realtime/signal`;
  const protocol = await page.evaluate(callBySocket, { url, key, sdp });
  check('the protocol is named', protocol === 'earshot.signal.v1', protocol);
  const message = (type) => page.evaluate(
    (wanted) => window.messages.find((one) => one.type === wanted), type);
  const answered = await until('an answer', () => message('answer'));
  check('it names the call', answered.call_id.startsWith('rtc_'), answered.call_id);
  await answer(page, answered.sdp);
  await until('it connects', async () => await state(page) === 'connected');
  await page.evaluate(() => window.socket.send(JSON.stringify({ type: 'hangup' })));
  const ended = await until('its end is told', () => message('ended'));
  check('it says why', ended.reason === 'hangup', ended);
  await until('the socket is closed', () => page.evaluate(() => window.closeCode === 1000));
}

async function checkExpiry(shortLived) {
  const headers = { 'Content-Type': 'application/sdp' };
  const refused = await until('a secret expires', async () => {
    const offer = { key: shortLived, headers, body: 'v=0' };
    const response = await ask('POST', '/realtime/calls', offer);
    return response.status === 401 && response;
  }, 1000 * (shortLifeS + 10));
  check('it is no key any more', refused.json.error.code === 'invalid_api_key', refused.json);
}

await withSuite(['--mode', 'echo'], async () => {
  const key = apiKey();
  const shortLived = await secret({}, shortLifeS);
  const fresh = await ask('POST', '/realtime/calls', { key: shortLived, body: 'v=0',
    headers: { 'Content-Type': 'application/sdp' } });
  check('a secret is good for offers, not for everything', fresh.status === 400 &&
    (await ask('POST', '/realtime/client_secrets', { key: shortLived })).status === 401,
    fresh.status);
  const other = await addTenant('other');
  const browser = await openChromium();
  const page = await browser.newPage();
  await page.goto(pageUrl);
  await checkWhip(page, key, other);
  await checkSocket(page, key);
  await checkExpiry(shortLived);
  await until('no call is left',
    async () => await metric('transceiver', 'earshot_transceiver_sessions_active') === 0);
  await browser.close();
});
