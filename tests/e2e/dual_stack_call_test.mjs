// dual_stack_call_test.mjs - one relay with an IPv4 and an IPv6 address: a call over whichever
// family the network lets through, in Chromium and in Firefox
import { openCall, openChromium } from './chromium.mjs';
import { openFirefox } from './marionette.mjs';
import { blockUdp, openAll } from './netfilter.mjs';
import { inbound, selectedPath, watchConnections } from './page.mjs';
import { check, metric, pageUrl, useConfig, until, withSuite } from './suite.mjs';

const other = { 4: 6, 6: 4 };
const address = { 4: '10.77.0.1', 6: 'fd77::1' };

useConfig('dual-stack', {
  'relay.yaml': [[/\$\{EARSHOT_MEDIA_2:-\}/, '"[fd77::1]:3478"'],
    [/\$\{EARSHOT_MEDIA_TCP_1[^}]*\}/, '""'], [/\$\{EARSHOT_MEDIA_TCP_2[^}]*\}/, '""']],
  'signaling.yaml': [[/\$\{EARSHOT_MEDIA_2:-\}/, '[fd77::1]:3478'],
    [/\$\{EARSHOT_MEDIA_TCP_1[^}]*\}/, ''], [/\$\{EARSHOT_MEDIA_TCP_2[^}]*\}/, '']],
});

const noSession = () => until('the session ends',
  async () => await metric('transceiver', 'earshot_transceiver_sessions_active') === 0);

async function callInChromium(browser, family) {
  const page = await openCall(browser);
  await page.waitForFunction(() => Math.abs(window.earshot.peakHz - 440) <= 5, null,
    { timeout: 15000, polling: 50 });
  const path = await page.evaluate(selectedPath);
  check(`Chromium calls over ${family ? `IPv${family}` : 'one of both'}`,
    path.protocol === 'udp' && (!family || path.address === address[family]), path);
  check('no packet is lost', (await page.evaluate(inbound)).packetsLost === 0);
  await page.getByRole('button', { name: 'Hang up' }).click();
  await noSession();
  await page.close();
}

async function callInFirefox(family) {
  const firefox = await openFirefox();
  await firefox.goto(`${pageUrl}?echo=1`);
  await firefox.evaluate(watchConnections);
  await firefox.evaluate(`document.querySelector('button').click()`);
  await until('the call connects', () => firefox.evaluate(`window.earshot.state === 'talking'`),
    30000);
  await until('audio comes back',
    () => firefox.evaluate(`window.earshot.stats.packetsReceived > 100`));
  const path = await firefox.evaluateAsync(selectedPath);
  check(`Firefox calls over IPv${family}`,
    path.protocol === 'udp' && path.address === address[family], path);
  check('no packet is lost', (await firefox.evaluateAsync(inbound)).packetsLost === 0);
  await firefox.evaluate(`document.querySelector('button').click()`);
  await noSession();
  await firefox.close();
}

await withSuite(['--mode', 'echo'], async () => {
  const browser = await openChromium();
  await callInChromium(browser, null);
  for (const family of [6, 4]) {
    blockUdp([other[family]]);
    await callInChromium(browser, family);
    openAll();
  }
  await browser.close();
  blockUdp([4]);
  await callInFirefox(6);
});
