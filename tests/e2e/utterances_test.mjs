// utterances_test.mjs - a hundred utterances, each of which leaves at once, do not fill Chromium's
// jitter buffer: what speech gained on the clock, silence gives back
import { Worker } from 'node:worker_threads';

import { openCall, openChromium } from './chromium.mjs';
import { inbound } from './page.mjs';
import { check, sleep, until, useBackend, withSuite } from './suite.mjs';

const port = 7299;
const utterances = 100;
const pauseMs = 400; // from one to the next
const edge = 10; // utterances at either end that are compared
const growthMsMax = 50; // a busy machine alone moves it so far

// Its own thread: `./dev up` waits for its greeting, and this one for ./dev up.
const agent = new Worker(new URL('counting_agent.mjs', import.meta.url), { workerData: port });
let hasCall = false;
agent.on('message', () => { hasCall = true; });
useBackend(port);

await withSuite([], async () => {
  const browser = await openChromium();
  const page = await openCall(browser);
  await until('the agent has a call', () => hasCall);
  const marks = [];
  for (let i = 0; i < utterances; i++) {
    if ([0, edge, utterances - edge].includes(i)) marks.push(await page.evaluate(inbound));
    agent.postMessage('speak');
    await sleep(pauseMs + Math.random() * 20);
  }
  marks.push(await page.evaluate(inbound));
  const meanMs = (from, to) => 1000 * (to.jitterBufferDelay - from.jitterBufferDelay) /
    (to.jitterBufferEmittedCount - from.jitterBufferEmittedCount);
  const atFirst = meanMs(marks[0], marks[1]);
  const atLast = meanMs(marks[2], marks[3]);
  check(`a hundred utterances later the buffer holds at most ${growthMsMax} ms more`,
    atLast <= atFirst + growthMsMax, { atFirst, atLast });
  await browser.close();
});
await agent.terminate();
