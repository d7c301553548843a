// page_test.mjs - the demo page alone: a second tab is the far end, no service runs
import { callsPath, location, toneHz } from './far_end.mjs';
import { browser, call, message, silence, state, talk, test, waitForState } from './page_kit.mjs';
import { check, sleep, until } from './suite.mjs';

// Sentences, not codes, are what a person needs.
async function checkSentence(page, sentence) {
  await talk(page);
  await page.waitForFunction(() => window.earshot.state === 'failed');
  const seen = await message(page);
  check(`it says: ${sentence}`, seen.includes(sentence), seen);
}

function refusal(status, code, text) {
  const error = { message: text, type: 'invalid_request_error', param: null, code };
  return { status, body: JSON.stringify({ error }) };
}

await test('the page is whole under the policy', {}, async (page, farEnd, complaints) => {
  check('it waits for Talk', await state(page) === 'idle');
  check('its style is there',
    await page.evaluate(() => getComputedStyle(document.body).display) === 'grid');
  check('it shows four steps', await page.locator('.step').count() === 4);
  check('it fits a small phone', await page.setViewportSize({ width: 320, height: 568 })
    .then(() => page.evaluate(() => document.documentElement.scrollWidth)) === 320);
  check('nothing is refused or thrown', complaints.length === 0, complaints);
});

const raw = { query: '?echo=1' };
await test('a call is heard, measured and hung up', raw, async (page, farEnd, complaints) => {
  await call(page);
  await page.waitForFunction((hz) => Math.abs(window.earshot.peakHz - hz) < 5, toneHz);
  await page.waitForFunction(() => window.earshot.stats.rtt !== null);
  const { timeline, stats } = await page.evaluate(() =>
    ({ timeline: window.earshot.timeline, stats: window.earshot.stats }));
  const order = Object.keys(timeline).sort((a, b) => timeline[a] - timeline[b]);
  check('the steps end in their order', order.join() === 'request,ice,dtls,firstAudio',
    timeline);
  check('the path is named', /^udp \S+:\d+$/.test(stats.path), stats);
  await talk(page);
  check('it is over', await state(page) === 'ended');
  check('the time stands there', /You talked for \d:\d\d/.test(await message(page)),
    await message(page));
  await until('the call is deleted', () => farEnd.count(`DELETE ${location}`) === 1);
  check('one call was made', farEnd.count(`POST ${callsPath}`) === 1, farEnd.requests);
  check('nothing is refused or thrown', complaints.length === 0, complaints);
});

await test('keys alone make and end a call', {}, async (page) => {
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await waitForState(page, 'talking');
  await page.keyboard.press('Escape');
  check('Escape hangs up', await state(page) === 'ended');
});

await test('leaving the page ends the call', {}, async (page, farEnd) => {
  await call(page);
  await page.goto('about:blank');
  await until('the call is deleted', () => farEnd.count(`DELETE ${location}`) === 1);
});

await test('sound that stops is called again', {}, async (page, farEnd) => {
  await call(page);
  await silence(farEnd);
  await waitForState(page, 'reconnecting', 6000);
  check('it says which attempt', (await message(page)).includes('Attempt 1 of 3'),
    await message(page));
  await page.waitForFunction(() => window.earshot.state === 'talking' &&
    window.earshot.stats.packetsReceived > 10);
  check('there were two calls', farEnd.count(`POST ${callsPath}`) === 2, farEnd.requests);
  check('the first was deleted', farEnd.count(`DELETE ${location}`) === 1, farEnd.requests);
});

await test('a call that can get another path is not made again', {}, async (page, farEnd) => {
  await call(page);
  farEnd.canRepair = true;
  await silence(farEnd);
  await waitForState(page, 'reconnecting', 6000);
  check('it says which attempt', (await message(page)).includes('Attempt 1 of 3'),
    await message(page));
  await waitForState(page, 'talking', 3000);
  check('there was one call', farEnd.count(`POST ${callsPath}`) === 1, farEnd.requests);
  check('one new path', farEnd.count(`PATCH ${location}`) === 1, farEnd.requests);
  const before = await page.evaluate(() => window.earshot.stats.packetsReceived);
  await page.waitForFunction((count) => window.earshot.stats.packetsReceived > count + 20, before);
});

await test('after three attempts the last refusal is shown', {}, async (page, farEnd) => {
  await call(page);
  farEnd.refusal = refusal(503, 'backend_unavailable', '');
  await silence(farEnd);
  await waitForState(page, 'failed', 20000);
  check('it says why', (await message(page)).includes('The agent is away'), await message(page));
  check('there were three attempts', farEnd.count(`POST ${callsPath}`) === 4, farEnd.requests);
});

await test('a path that is gone is told within 15 s', {}, async (page, farEnd) => {
  await call(page);
  farEnd.isUnreachable = true;
  const began = Date.now();
  await silence(farEnd);
  await page.waitForFunction(() => window.earshot.message.includes('Attempt 3 of 3'));
  check('meanwhile it calls again', await state(page) === 'reconnecting');
  await waitForState(page, 'failed');
  const seconds = (Date.now() - began) / 1000;
  check('it takes no longer', seconds < 15, seconds);
  check('it says why', (await message(page)).includes('The connection was lost'),
    await message(page));
});

await test('a call that the server ends is over', {}, async (page, farEnd, complaints) => {
  await call(page);
  await farEnd.tab.evaluate(() => window.calls[0].close());
  await waitForState(page, 'ended');
  check('it says who ended it', (await message(page)).includes('The agent ended it or was lost'),
    await message(page));
  await sleep(500);
  check('nothing is left to delete', farEnd.count(`DELETE ${location}`) === 0, farEnd.requests);
  check('nothing is refused or thrown', complaints.length === 0, complaints);
});

await test('a hang-up waits a second for the server, no longer', {}, async (page, farEnd) => {
  await call(page);
  farEnd.isMute = true;
  const closed = farEnd.tab.evaluate(() => new Promise((resolve) => {
    const began = performance.now();
    const { transport } = window.calls[0].getSenders()[0];
    transport.onstatechange = () => resolve(performance.now() - began);
  }));
  await talk(page);
  check('for the person it is over at once', await state(page) === 'ended');
  const closedMs = await closed;
  check('the connection goes with the second', closedMs > 900 && closedMs < 2000, closedMs);
});

await test('every refusal has its sentence', {}, async (page, farEnd) => {
  const table = [
    [refusal(400, 'invalid_offer', 'line 5: audio needs a=rtcp-mux'),
      'The server refused the call. line 5: audio needs'],
    [refusal(503, 'server_overloaded', 'No transceiver is known.'),
      'All lines are busy. Try again in a moment.'],
    [refusal(401, 'invalid_api_key', 'The header Authorization is missing.'),
      'The server wants a key. It gives none to this page'],
    [refusal(503, 'backend_unavailable', ''), 'The agent is away'],
    [refusal(429, 'rate_limit_exceeded', ''), 'Too many calls'],
    [{ status: 502, body: '<h1>Bad gateway</h1>' }, 'The server answered with status 502'],
    [{ status: 201, body: 'no SDP' }, 'answer cannot be used'],
  ];
  for (const [answer, sentence] of table) {
    farEnd.refusal = answer;
    await checkSentence(page, sentence);
  }
  farEnd.isDead = true;
  await checkSentence(page, 'The server does not answer');
});

for (const [error, sentence] of [
  ['NotAllowedError', 'The microphone is blocked'],
  ['NotFoundError', 'No microphone found'],
  ['NotReadableError', 'The microphone does not start'],
]) {
  const before = 'navigator.mediaDevices.getUserMedia = ' +
    `() => Promise.reject(new DOMException('', '${error}'))`;
  await test(`${error} has its sentence`, { before }, async (page, farEnd) => {
    await checkSentence(page, sentence);
    check('no call was made', farEnd.count(`POST ${callsPath}`) === 0, farEnd.requests);
  });
}

const insecure = "Object.defineProperty(window, 'isSecureContext', { value: false })";
await test('a page without https says so and has no button', { before: insecure }, async (page) => {
  check('it says so', (await message(page)).includes('must be opened over https'),
    await message(page));
  check('Talk is off', await page.locator('#talk').isDisabled());
});

await browser.close();
