// firefox_tcp_test.mjs - Firefox in a network that lets no UDP through: a call over TCP; then
// kill -9 of the relay, after which the browser connects again from the same port by itself
import { openFirefox } from './marionette.mjs';
import { blockUdp } from './netfilter.mjs';
import { inbound, longestGap, selectedPath, watchConnections } from './page.mjs';
import { check, killAndRestart, metric, pageUrl, sleep, until, withSuite } from './suite.mjs';

const gapMsMax = 6500;

const confirmed = () => metric('relay', 'earshot_relay_tcp_connections', 'state="confirmed"');

blockUdp();

await withSuite(['--mode', 'echo'], async () => {
  const firefox = await openFirefox();
  await firefox.goto(`${pageUrl}?echo=1`);
  await firefox.evaluate(watchConnections);
  await firefox.evaluate(`document.querySelector('button').click()`);
  await until('the call connects', () => firefox.evaluate(`window.earshot.state === 'talking'`),
    30000);
  await until('audio comes back',
    () => firefox.evaluate(`window.earshot.stats.packetsReceived > 100`));
  const path = await firefox.evaluateAsync(selectedPath);
  check('it is over TCP', path.protocol === 'tcp', path);
  check('the relay has its connection', await confirmed() >= 1);
  const stats = await firefox.evaluateAsync(inbound);
  check('no packet is lost', stats.packetsLost === 0, stats);

  const measuring = firefox.evaluateAsync(longestGap(10000));
  await sleep(1000);
  await killAndRestart('relay');
  const gapMs = await measuring;
  check('kill -9 costs 6.5 s of audio at most', gapMs <= gapMsMax, Math.round(gapMs));
  check('the relay has its connection again', await confirmed() >= 1);
  check('the page did not restart ICE',
    await metric('transceiver', 'earshot_transceiver_ice_restarts_total') === 0);
  await firefox.evaluate(`document.querySelector('button').click()`);
  await until('the session ends',
    async () => await metric('transceiver', 'earshot_transceiver_sessions_active') === 0);
  await firefox.close();
});
