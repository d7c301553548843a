// compose_call.mjs - a person talks to the containers: through the published port, in Chromium
import { openCall, openChromium } from '../e2e/chromium.mjs';
import { check, sleep, until } from '../e2e/suite.mjs';

const browser = await openChromium();
try {
  const page = await openCall(browser);
  await until('audio comes back',
    () => page.evaluate(() => window.earshot.stats.packetsReceived > 100));
  await sleep(2000);
  const { stats, peakHz } = await page.evaluate(() =>
    ({ stats: window.earshot.stats, peakHz: window.earshot.peakHz }));
  check('what is said comes back, 440 +- 5 Hz', Math.abs(peakHz - 440) <= 5, peakHz);
  check('not one packet in a hundred is lost', stats.packetsLost * 100 < stats.packetsReceived,
    stats);
  await page.click('#talk');
  await until('the page has ended the call',
    () => page.evaluate(() => window.earshot.state !== 'talking'));
} finally {
  await browser.close();
}
