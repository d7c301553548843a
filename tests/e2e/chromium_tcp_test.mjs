// chromium_tcp_test.mjs - Chromium in a network that lets no UDP through: a call over TCP, to port
// 443 of a public address, as a cluster's Service gives it; then kill -9 of the relay
import { openCall, openChromium } from './chromium.mjs';
import { blockUdp, mapTcp } from './netfilter.mjs';
import { inbound, selectedPath } from './page.mjs';
import { check, killAndRestart, metric, useConfig, until, withSuite } from './suite.mjs';

// Chromium ignores ports below 1024 on private addresses.
const advertised = '203.0.113.1:443';
const connectMsMax = 10000; // on a busy machine

const confirmed = () => metric('relay', 'earshot_relay_tcp_connections', 'state="confirmed"');
const restarts = () => metric('transceiver', 'earshot_transceiver_ice_restarts_total');

const hearsItself = (page) => page.waitForFunction(
  () => Math.abs(window.earshot.peakHz - 440) <= 5, null, { timeout: 15000, polling: 50 });

useConfig('tcp-443',
  { 'signaling.yaml': [[/\$\{EARSHOT_MEDIA_TCP_1:-\}/, advertised]] });
blockUdp();
mapTcp('203.0.113.1', 443, '10.77.0.1:3478');

await withSuite(['--mode', 'echo'], async () => {
  const browser = await openChromium();
  const began = Date.now();
  const page = await openCall(browser);
  const connectMs = Date.now() - began;
  check('it connects', connectMs < connectMsMax, connectMs);
  await hearsItself(page);
  const path = await page.evaluate(selectedPath);
  check('over TCP to port 443', path.protocol === 'tcp' && path.port === 443, path);
  check('the relay has its connection', await confirmed() >= 1);
  await until('audio comes back',
    async () => (await page.evaluate(inbound)).packetsReceived > 100);
  const { packetsLost } = await page.evaluate(inbound);
  check('no packet is lost', packetsLost === 0, packetsLost);

  // The browser gives a broken TCP connection up for good; the page asks for new credentials.
  const killed = Date.now();
  await killAndRestart('relay');
  await until('the page restarts ICE', async () => await restarts() >= 1, 20000);
  const received = (await page.evaluate(inbound)).packetsReceived;
  await until('audio goes on',
    async () => (await page.evaluate(inbound)).packetsReceived > received + 20, 20000);
  const backMs = Date.now() - killed;
  await hearsItself(page);
  check('kill -9 costs no call', await page.evaluate(() => window.earshot.state) === 'talking',
    { backMs });
  check('it is the same connection of the page',
    await page.evaluate(() => window.connections.length) === 1);
  check('and TCP again', (await page.evaluate(selectedPath)).protocol === 'tcp' &&
    await confirmed() >= 1);
  await page.getByRole('button', { name: 'Hang up' }).click();
  await until('the session ends',
    async () => await metric('transceiver', 'earshot_transceiver_sessions_active') === 0);
  await until('the connection ends', async () => await confirmed() === 0);
  check('the console has no error', page.complaints.length === 0, page.complaints);
  await browser.close();
});
