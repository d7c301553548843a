// voice_codecs_test.mjs - a real Chromium sends each voice packet twice, and speaks G.711 too
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { openCall, openChromium } from './chromium.mjs';
import { codecsInUse, inbound, preferCodec } from './page.mjs';
import { artefacts, check, metric, root, until, withSuite } from './suite.mjs';

const program = `${root}/tests/e2e/payload_types.py`;
const mediaPort = 3478;
const captureSeconds = 4;

// { payload type: datagrams } of what the browser sends.
async function payloadTypes() {
  const { stdout } = await promisify(execFile)('python3',
    ['-B', program, mediaPort, captureSeconds].map(String));
  return JSON.parse(stdout);
}

// The payload type of a codec in the offer of the page's last call.
const offered = (codec) => `Number(window.connections.at(-1).localDescription.sdp
  .match(/a=rtpmap:(\\d+) ${codec}\\//i)[1])`;

async function hearTone(page) {
  await until('audio comes back',
    () => page.evaluate(() => window.earshot.stats.packetsReceived > 100));
  await until('the tone comes back, 440 +- 5 Hz',
    () => page.evaluate(() => Math.abs(window.earshot.peakHz - 440) <= 5));
}

async function hangUp(page) {
  await page.getByRole('button', { name: 'Hang up' }).click();
  await until('the session ends',
    async () => await metric('transceiver', 'earshot_transceiver_sessions_active') === 0);
  await page.close();
}

await withSuite(['--mode', 'echo'], async () => {
  const browser = await openChromium();
  const page = await openCall(browser);
  await hearTone(page);
  const red = await page.evaluate(offered('red'));
  const counts = await payloadTypes();
  const sent = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const share = (counts[red] ?? 0) / sent;
  check('at least 99 of 100 packets of Chromium are RED', sent > 100 && share >= 0.99,
    { red, counts });
  check('no packet is lost', (await page.evaluate(inbound)).packetsLost === 0);
  await hangUp(page);

  for (const mimeType of ['audio/PCMU', 'audio/PCMA']) {
    const call = await openCall(browser, preferCodec(mimeType));
    await hearTone(call);
    const codecs = await call.evaluate(codecsInUse);
    check(`${mimeType} is spoken both ways`,
      codecs.sent === mimeType && codecs.received === mimeType, codecs);
    const { packetsLost } = await call.evaluate(inbound);
    check(`${mimeType}: no packet is lost`, packetsLost === 0, packetsLost);
    await call.screenshot({ path: `${artefacts}/page-${mimeType.slice(6)}.png` });
    await hangUp(call);
  }
  await browser.close();
});
