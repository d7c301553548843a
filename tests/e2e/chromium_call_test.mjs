// chromium_call_test.mjs - a person opens the page, presses Talk, and hears: in a real Chromium
import { openCall, openChromium } from './chromium.mjs';
import { datagrams } from './page.mjs';
import { artefacts, check, metric, sleep, until, withSuite } from './suite.mjs';

const statsAgeMsMax = 50; // Chromium answers getStats from memory so long
const looks = 10; // at two processes, which a busy machine does not run at the same time

const relayed = (...words) => metric('relay', 'earshot_relay_datagrams_total', ...words);
const forwardedUp = async () => await relayed('verdict="token"') + await relayed('verdict="flow"');

// The relay's count lies between what the page counted before and after, in one of some looks. A
// relay that lost or doubled something would be off in all of them, and further each time.
async function compareCounts(page) {
  const seen = { up: false, down: false };
  for (let look = 0; look < looks && !(seen.up && seen.down); look++) {
    const before = await page.evaluate(datagrams);
    const up = await forwardedUp();
    const down = await relayed('verdict="shim"');
    await sleep(2 * statsAgeMsMax);
    const after = await page.evaluate(datagrams);
    seen.up ||= before.sent <= up && up <= after.sent;
    seen.down ||= before.received <= down && down <= after.received;
    seen.counts = { before, up, down, after };
  }
  return seen;
}

// Every datagram of the page goes through the one flow, and the relay has no other. Only where the
// first check was slow has the page checked the second candidate too, which is another socket of
// the relay and may be another worker's.
async function checkFlow(page) {
  const flows = (state) => metric('relay', 'earshot_relay_flows', `state="${state}"`);
  const before = await page.evaluate(datagrams);
  const confirmed = await flows('confirmed');
  const halfOpen = await flows('half_open');
  check('the relay has one flow, a confirmed one',
    confirmed >= 1 && confirmed + halfOpen <= before.pairsChecked,
    { confirmed, halfOpen, pairsChecked: before.pairsChecked });

  const seen = await compareCounts(page);
  check('what the page sent is what the relay forwarded', seen.up, seen);
  check('what the page received is what the relay forwarded', seen.down, seen);
  check('nearly all of it is voice',
    before.voiceSent > 0.9 * before.sent && before.voiceReceived > 0.9 * before.received, before);
}

await withSuite(['--mode', 'echo'], async () => {
  const browser = await openChromium();
  const page = await openCall(browser);
  await until('audio comes back',
    () => page.evaluate(() => window.earshot.stats.packetsReceived > 100));
  await until('there is voice both ways', async () => {
    const { voiceSent, voiceReceived } = await page.evaluate(datagrams);
    return voiceSent > 200 && voiceReceived > 200;
  });
  const peakHz = await until('a frequency comes back',
    () => page.evaluate(() => window.earshot.peakHz));
  const { stats, timeline } = await page.evaluate(() => ({
    stats: window.earshot.stats,
    timeline: window.earshot.timeline,
  }));
  await page.screenshot({ path: `${artefacts}/page-in-a-call.png` });
  check('the strongest frequency that comes back is 440 +- 5 Hz', Math.abs(peakHz - 440) <= 5,
    peakHz);
  check('no packet is lost', stats.packetsLost === 0, stats);
  check('every set-up step has its time', Object.values(timeline).length >= 4 &&
    Object.values(timeline).every((ms) => ms > 0), timeline);
  await checkFlow(page);

  await page.getByRole('button', { name: 'Hang up' }).click();
  await until('the session ends',
    async () => await metric('transceiver', 'earshot_transceiver_sessions_active') === 0);
  const ended = (...words) =>
    metric('transceiver', 'earshot_transceiver_sessions_ended_total', ...words);
  check('hanging up is the reason', await ended('reason="hangup"') === 1 && await ended() === 1);
  await until('the page closes its connection',
    () => page.evaluate(() => window.connections[0].connectionState === 'closed'));
  check('the relay dropped nothing', await relayed('direction="up"') === await forwardedUp());
  check('the console has no error', page.complaints.length === 0, page.complaints);
  await browser.close();
});
