// restart_ice_test.mjs - a call that loses its path gets another one, and stays the same call
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { openCall, openChromium } from './chromium.mjs';
import { inbound } from './page.mjs';
import { check, kill, metric, root, sleep, until, withSuite } from './suite.mjs';

const state = (page) => page.evaluate(() => window.earshot.state);
const callsMade = () => metric('transceiver', 'earshot_transceiver_sessions_created_total');
const restarts = () => metric('transceiver', 'earshot_transceiver_ice_restarts_total');
const patched = () => metric('signaling', 'earshot_signaling_patches_total',
  'outcome="restarted"');

const hearsItself = (page) => page.waitForFunction(
  () => Math.abs(window.earshot.peakHz - 440) <= 5, null, { timeout: 10000, polling: 50 });

// The credentials that the browser uses, of the far side.
const remoteUfrag = (page) => page.evaluate(() =>
  /^a=ice-ufrag:(.*)$/m.exec(window.connections[0].remoteDescription.sdp)[1].trim());

// Any client of WHIP, without a page: restartIce, PATCH, the reply's credentials in the answer.
async function restartByHand() {
  const [connection] = window.connections;
  connection.restartIce();
  const offer = await connection.createOffer();
  await connection.setLocalDescription(offer);
  const lineOf = (sdp, name) => new RegExp(`^a=${name}:.*$`, 'm').exec(sdp)[0].trim();
  const response = await fetch(window.callLocation, {
    method: 'PATCH',
    headers: {
      Authorization: window.callKey,
      'Content-Type': 'application/trickle-ice-sdpfrag',
      'If-Match': '*',
    },
    body: `${lineOf(offer.sdp, 'ice-ufrag')}\r\n${lineOf(offer.sdp, 'ice-pwd')}\r\n`,
  });
  const fragment = await response.text();
  let { sdp } = connection.currentRemoteDescription;
  for (const name of ['ice-ufrag', 'ice-pwd']) {
    sdp = sdp.replace(new RegExp(`^a=${name}:.*$`, 'gm'), lineOf(fragment, name));
  }
  await connection.setRemoteDescription({ type: 'answer', sdp });
  return { status: response.status, etag: response.headers.get('ETag'), fragment };
}

// Before Talk: the Location of each call that the page makes.
const watchLocation = () => {
  const real = window.fetch;
  window.fetch = async (...words) => {
    const response = await real(...words);
    window.callLocation = response.headers.get('Location') ?? window.callLocation;
    window.callKey = words[1]?.headers?.Authorization ?? window.callKey;
    return response;
  };
};

async function restartInCall(page) {
  const before = await remoteUfrag(page);
  const restarted = await page.evaluate(restartByHand);
  check('the PATCH is answered', restarted.status === 200 && restarted.etag === '"1"', restarted);
  check('with credentials of our own, new ones', await remoteUfrag(page) !== before &&
    restarted.fragment.includes('a=ice-lite'), restarted.fragment);
  const { packetsReceived } = await page.evaluate(inbound);
  await until('audio goes on',
    async () => (await page.evaluate(inbound)).packetsReceived > packetsReceived + 100);
  const { concealedSamples, packetsLost } = await page.evaluate(inbound);
  check('no packet was lost on the way', packetsLost === 0, { concealedSamples, packetsLost });
  await hearsItself(page);
  check('the page did not notice', await state(page) === 'talking');
}

// What an operator sees.
async function tellOf(page) {
  const callId = (await page.evaluate(() => window.callLocation)).split('/').at(-1);
  const earshotctl = join(root, 'build', process.env.EARSHOT_PRESET ?? 'release', 'bin/earshotctl');
  return execFileSync(earshotctl, ['session', 'show', 'tcp://127.0.0.1:7001', callId],
    { encoding: 'utf8' });
}

// The relay is gone for as long as the page needs to give the path up, and comes back with nothing
// in its memory.
async function losePath(page) {
  const startRelay = kill('relay');
  try {
    await page.waitForFunction(() => window.earshot.state === 'reconnecting', null,
      { timeout: 15000, polling: 20 });
    check('it says so', (await page.evaluate(() => window.earshot.message))
      .includes('Attempt 1 of 3'));
    await until('it asks for new credentials', async () => await patched() === 2);
  } finally {
    await startRelay();
  }
  await page.waitForFunction(() => window.earshot.state === 'talking', null, { timeout: 10000 });
  await hearsItself(page);
}

await withSuite(['--mode', 'echo'], async () => {
  const browser = await openChromium();
  const context = await browser.newContext();
  await context.addInitScript(watchLocation);
  const page = await openCall(context);
  await hearsItself(page);
  await restartInCall(page);
  check('the transceiver restarted ICE once', await restarts() === 1);

  await losePath(page);
  check('it is the same call still', await callsMade() === 1 &&
    await page.evaluate(() => window.connections.length) === 1);
  check('the transceiver restarted ICE again', await restarts() === 2);
  // A browser may look for a path from other ports; the flow that it left goes by itself.
  await until('the new relay learns the flow',
    async () => await metric('relay', 'earshot_relay_flows', 'state="confirmed"') >= 1);
  const peaks = [];
  await until('and the tone goes on, 18 of 20 looks in two seconds', async () => {
    await sleep(50);
    peaks.push(await page.evaluate(() => window.earshot.peakHz));
    return peaks.slice(-20).filter((hz) => Math.abs(hz - 440) <= 5).length >= 18;
  });
  const told = await tellOf(page);
  check('earshotctl tells of it', /^state +connected/m.test(told) &&
    /^ice_generation +2$/m.test(told) && /^dtls_done +\d+\.\d$/m.test(told) &&
    /^accepted /m.test(told) && /^first_audio_out /m.test(told), told);
  await page.getByRole('button', { name: 'Hang up' }).click();
  await until('the session ends',
    async () => await metric('transceiver', 'earshot_transceiver_sessions_active') === 0);
  check('the console has no error', page.complaints.length === 0, page.complaints);
  await browser.close();
});
