// relay_kill_test.mjs - kill -9 of the relay inside a call: the call goes on
import { inbound } from './page.mjs';
import { openCall, openChromium } from './chromium.mjs';
import { check, killAndRestart, metric, sleep, until, withSuite } from './suite.mjs';

// The longest time between two packets, as the page's own counters tell it each 20 ms.
const longestGap = (ms) => `(async () => {
  const packets = async () => (await ${inbound}).packetsReceived;
  let received = await packets();
  let changed = performance.now();
  let longest = 0;
  const end = changed + ${ms};
  while (performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const count = await packets();
    if (count === received) continue;
    longest = Math.max(longest, performance.now() - changed);
    changed = performance.now();
    received = count;
  }
  return Math.max(longest, performance.now() - changed);
})()`;

await withSuite(['--mode', 'echo'], async () => {
  const browser = await openChromium();
  const page = await openCall(browser);
  await until('audio comes back',
    () => page.evaluate(() => window.earshot.stats.packetsReceived > 100));
  const measuring = page.evaluate(longestGap(5000));
  await sleep(1000);
  killAndRestart('relay');
  const gapMs = await measuring;
  check('no gap of a second or more', gapMs < 1000, Math.round(gapMs));
  check('the page is still in the call',
    await page.evaluate(() => window.earshot.state) === 'talking');
  // Every worker learns it: their number may have changed with the restart.
  check('the new relay learned the flow',
    await metric('relay', 'earshot_relay_flows', 'state="confirmed"') >= 1);
  await browser.close();
});
