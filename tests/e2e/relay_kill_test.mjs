// relay_kill_test.mjs - kill -9 of the relay inside a call: the call goes on
import { openCall, openChromium } from './chromium.mjs';
import { longestGap } from './page.mjs';
import { check, killAndRestart, metric, sleep, until, withSuite } from './suite.mjs';

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
