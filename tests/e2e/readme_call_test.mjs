// readme_call_test.mjs - the ten lines of the README make a call, and its Location ends it
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { openChromium } from './chromium.mjs';
import { apiKey, check, metric, pageUrl, root, until, withSuite } from './suite.mjs';

const [, text] = /^```js\n(.*?)^```/ms.exec(readFileSync(join(root, 'README.md'), 'utf8'));

// As the server of an app gets it.
async function clientSecret() {
  const response = await fetch(new URL('/v1/realtime/client_secrets', pageUrl), {
    method: 'POST', headers: { Authorization: `Bearer ${apiKey()}` },
  });
  check('the API key gets a client secret', response.status === 200, response.status);
  return (await response.json()).value;
}

await withSuite(['--mode', 'echo'], async () => {
  const lines = text.replace('ek_...', await clientSecret());
  const browser = await openChromium();
  const page = await browser.newPage();
  await page.goto(pageUrl);
  await page.evaluate(() => {
    window.Audio = class extends window.Audio {
      constructor(...words) { super(...words); window.played = this; }
    };
  });
  const location = await page.evaluate(
    `(async () => { ${lines} Object.assign(window, { pc, headers }); return call; })()`);
  check('the answer has a Location', location?.startsWith('/v1/realtime/calls/rtc_'), location);
  await until('the tone comes back', () => page.evaluate(async () => {
    const report = [...(await window.pc.getStats()).values()];
    return report.find((s) => s.type === 'inbound-rtp')?.audioLevel > 0.1;
  }));
  await until('and is played', () => page.evaluate(() => window.played?.currentTime > 0.5));
  const status = await page.evaluate(async (url) =>
    (await fetch(url, { method: 'DELETE', headers: window.headers })).status, location);
  check('DELETE of it is answered with 200', status === 200, status);
  await until('the call ends for the browser',
    () => page.evaluate(() => window.pc.connectionState === 'failed'));
  const ended = 'earshot_transceiver_sessions_ended_total';
  check('hanging up is the reason', await metric('transceiver', ended, 'reason="hangup"') === 1);
  await browser.close();
});
