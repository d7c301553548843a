// tenants_test.mjs - a page of another origin calls with a secret of its app; other apps cannot
// reach that call, and a secret ends when it said it would
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';

import { openChromium } from './chromium.mjs';
import { apiKey, check, pageUrl, root, run, until, withSuite } from './suite.mjs';

const preset = process.env.EARSHOT_PRESET ?? 'release';
const ask = (path, key, method = 'POST', body = undefined, headers = {}) =>
  fetch(new URL(path, pageUrl), {
    method, body, headers: { Authorization: `Bearer ${key}`, ...headers },
  });

// An app of its own: the key of a new tenant, which signaling finds in its file by itself.
async function newTenant(name) {
  const earshotctl = join(root, 'build', preset, 'bin/earshotctl');
  const file = join(run, 'keys/api/keys');
  const words = ['api-keys', 'add', file, name];
  const key = execFileSync(earshotctl, words, { encoding: 'utf8' }).trim();
  await until(`the key of ${name} counts`,
    async () => (await ask('/v1/realtime/client_secrets', key)).status === 200);
  return key;
}

async function secretOf(key, seconds) {
  const wish = JSON.stringify({ expires_after: { anchor: 'created_at', seconds } });
  const response = await ask('/v1/realtime/client_secrets', key, 'POST', wish);
  check(`a secret of ${seconds} s is issued`, response.status === 200, response.status);
  return response.json();
}

// In the page of the app: what the browser lets it do and see.
async function call({ url, key }) {
  const pc = new RTCPeerConnection();
  window.pc = pc;
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
  pc.addTrack(microphone.getAudioTracks()[0], microphone);
  await pc.setLocalDescription();
  const response = await fetch(`${url}v1/realtime/calls`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/sdp' },
    body: pc.localDescription.sdp,
  });
  if (!response.ok) return { status: response.status, error: (await response.json()).error };
  await pc.setRemoteDescription({ type: 'answer', sdp: await response.text() });
  return {
    status: response.status,
    location: response.headers.get('Location'),
    requestId: response.headers.get('x-request-id'),
  };
}

await withSuite(['--mode', 'echo'], async () => {
  const app = createServer((request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>app</title>');
  }).listen(0, '127.0.0.1');
  await once(app, 'listening');
  const browser = await openChromium();
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${app.address().port}/`);

  const other = await newTenant('other');
  const short = await secretOf(apiKey(), 10);
  const { status, location, requestId } =
    await page.evaluate(call, { url: pageUrl, key: short.value });
  check('a page of another origin calls with its secret', status === 201, status);
  check('and reads Location', location?.startsWith('/v1/realtime/calls/rtc_'), location);
  check('and the name of its request', /^req_/.test(requestId), requestId);
  await until('it is connected',
    () => page.evaluate(() => window.pc.connectionState === 'connected'));

  const fragment = { 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': '*' };
  const theirs = [
    await ask(location, other, 'GET'),
    await ask(location, other, 'PATCH', 'a=ice-ufrag:abcd\r\n', fragment),
    await ask(location, other, 'DELETE'),
    await ask(`${location}/hangup`, other),
  ].map((response) => response.status);
  check('for another tenant there is no such call', theirs.every((s) => s === 404), theirs);
  check('it lives on', await page.evaluate(() => window.pc.connectionState === 'connected'));

  await until('the secret expires',
    async () => (await ask(location, short.value, 'GET')).status === 401, 20000);
  const late = Date.now() / 1000 - short.expires_at;
  check('when it said', late >= 0 && late < 2, late);
  const refused = await page.evaluate(call, { url: pageUrl, key: short.value });
  check('and makes no call any more', refused.error?.code === 'invalid_api_key', refused);

  const found = (await ask(location, apiKey(), 'GET')).status;
  check('the call outlives it', found === 204, found);
  const ended = (await ask(`${location}/hangup`, apiKey())).status;
  check('its tenant hangs up', ended === 200, ended);
  await browser.close();
  app.close();
});
