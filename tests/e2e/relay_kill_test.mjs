// relay_kill_test.mjs - kill -9 of the relay inside a call: the call goes on
import { inbound } from './page.mjs';
import { openCall, openChromium } from './chromium.mjs';
import { check, killAndRestart, metric, sleep, until, withSuite } from './suite.mjs';

// The longest time between two packets, as the page's own counters tell it each 20 ms. While a busy
// machine does not let the page look, it can not tell: such a pause counts as one look of 100 ms.
const longestGap = (ms) => `(async () => {
  const packets = async () => (await ${inbound}).packetsReceived;
  let received = await packets();
  let looked = performance.now();
  let gap = 0;
  let longest = 0;
  const end = looked + ${ms};
  while (looked < end) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const count = await packets();
    const now = performance.now();
    gap += Math.min(100, now - looked);
    looked = now;
    longest = Math.max(longest, gap);
    if (count !== received) gap = 0;
    received = count;
  }
  return longest;
})()`;

await withSuite(['--mode', 'echo'], async () => {
  const browser = await openChromium();
  const page = await openCall(browser);
  await until('audio comes back',
    () => page.evaluate(() => window.earshot.stats.packetsReceived > 100));
  const measuring = page.evaluate(longestGap(5000));
  await sleep(1000);
  await killAndRestart('relay');
  const gapMs = await measuring;
  check('no gap of a second or more', gapMs < 1000, Math.round(gapMs));
  check('the page is still in the call',
    await page.evaluate(() => window.earshot.state) === 'talking');
  // Every worker learns it: their number may have changed with the restart.
  await until('the new relay learns the flow',
    async () => await metric('relay', 'earshot_relay_flows', 'state="confirmed"') >= 1);
  await browser.close();
});
