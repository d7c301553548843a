// quiet_close_test.mjs - the server hangs up twenty times on each package in each browser: they end
// at once, and neither reports an error
import { openChromium } from './chromium.mjs';
import { openFirefox } from './marionette.mjs';
import { hangUp, openSdkPage, SdkCall, secret, servePackages } from './sdk_kit.mjs';
import { check, until, withSuite } from './suite.mjs';

const times = 20;
const endMsMax = 3000;
const packagesOf = {
  agents: { open: 'openAgents', end: 'disconnected' },
  openai: { open: 'openOpenai', end: 'closed:remote' },
};

async function hangUpOnce(evaluate, name, key) {
  const { open, end } = packagesOf[name];
  const call = new SdkCall(evaluate, name);
  const { callId } = await call[open]({ key });
  await call.wait('session.created');
  await hangUp(callId);
  await until(`${name} is ${end}`, async () => (await call.look()).states.some(
    ({ state }) => state === end), endMsMax);
  const { errors, complaints } = call;
  await call.do('close');
  await call.do('stop');
  return [...errors.map(({ text }) => text), ...complaints];
}

async function checkBrowser(browserName, evaluate, key) {
  for (const name of Object.keys(packagesOf)) {
    const noise = [];
    let ended = 0;
    for (; ended < times; ended++) noise.push(...await hangUpOnce(evaluate, name, key));
    check(`${browserName}, ${name}: ${times} calls end quietly`, noise.length === 0,
      noise.slice(0, 3));
  }
}

const packages = await servePackages();
await withSuite([], async () => {
  const key = await secret({ instructions: '#stub {"speak_ms":4000}' });
  const browser = await openChromium();
  await checkBrowser('Chromium', await openSdkPage(browser, packages), key);
  await browser.close();
  const firefox = await openFirefox();
  await firefox.goto(packages.url);
  await until('the packages are loaded', () => firefox.evaluate('Boolean(window.sdk)'));
  await checkBrowser('Firefox', (expression) => firefox.evaluateAsync(expression), key);
  await firefox.close();
});
packages.close();
