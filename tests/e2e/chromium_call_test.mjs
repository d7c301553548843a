// chromium_call_test.mjs - a person opens the page, presses Talk, and hears: in a real Chromium
import { openCall, openChromium } from './chromium.mjs';
import { artefacts, check, metric, sleep, until, withSuite } from './suite.mjs';

await withSuite(['--mode', 'echo'], async () => {
  const browser = await openChromium();
  const page = await openCall(browser);
  await until('audio comes back', () => page.evaluate(() => window.earshot.stats.packetsReceived > 100));
  await sleep(4000);
  const seen = await page.evaluate(() => ({
    stats: window.earshot.stats, timeline: window.earshot.timeline, peakHz: window.earshot.peakHz,
  }));
  await page.screenshot({ path: `${artefacts}/page-in-a-call.png` });
  check('the strongest frequency that comes back is 440 +- 5 Hz', Math.abs(seen.peakHz - 440) <= 5, seen.peakHz);
  check('no packet is lost', seen.stats.packetsLost === 0, seen.stats);
  check('every set-up step has its time', Object.values(seen.timeline).length >= 4 &&
    Object.values(seen.timeline).every((ms) => ms > 0), seen.timeline);
  check('the relay has one confirmed flow',
    await metric('relay', 'earshot_relay_flows', 'state="confirmed"') === 1);
  const before = await metric('relay', 'earshot_relay_datagrams_total', 'verdict="flow"');
  await sleep(1000);
  const after = await metric('relay', 'earshot_relay_datagrams_total', 'verdict="flow"');
  check('that flow carries the voice', after - before >= 45, after - before);
  await page.getByRole('button', { name: /hang up|end/i }).click();
  await until('the session ends', async () => await metric('transceiver', 'earshot_transceiver_sessions_active') === 0);
  check('hanging up is the reason',
    await metric('transceiver', 'earshot_transceiver_sessions_ended_total', 'reason="hangup"') +
    await metric('transceiver', 'earshot_transceiver_sessions_ended_total', 'reason="client_closed"') === 1);
  await browser.close();
});
