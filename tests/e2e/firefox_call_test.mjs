// firefox_call_test.mjs - the same page in a real Firefox, over the address that dev up advertises
import { openFirefox } from './marionette.mjs';
import { inbound, watchConnections } from './page.mjs';
import { artefacts, check, metric, pageUrl, sleep, until, withSuite } from './suite.mjs';

await withSuite(['--mode', 'echo'], async () => {
  const firefox = await openFirefox();
  await firefox.goto(`${pageUrl}?echo=1`);
  await firefox.evaluate(watchConnections);
  await firefox.evaluate(`[...document.querySelectorAll('button')].find((b) => /talk/i.test(b.textContent + b.ariaLabel)).click()`);
  await until('the call connects', () => firefox.evaluate(`window.earshot.state === 'talking'`), 30000);
  await until('audio comes back', () => firefox.evaluate(`window.earshot.stats.packetsReceived > 100`));
  await sleep(3000);
  const stats = await firefox.evaluateAsync(inbound);
  await firefox.screenshot(`${artefacts}/page-in-a-call-firefox.png`);
  check('no packet is lost', stats.packetsLost === 0, stats);
  check('what comes back is no silence', stats.audioLevel > 0.02, stats.audioLevel);
  check('the relay has a confirmed flow',
    await metric('relay', 'earshot_relay_flows', 'state="confirmed"') >= 1);
  await firefox.close();
});
