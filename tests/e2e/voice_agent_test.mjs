// voice_agent_test.mjs - a real Chromium and an agent: a long press of a key is one digit, and a
// hundred short utterances leave no delay behind
import { Agent } from './agent.mjs';
import { openCall, openChromium } from './chromium.mjs';
import { inbound, isHeard } from './page.mjs';
import { check, sleep, until, useBackend, withSuite } from './suite.mjs';

const agentPort = 7300;
const utterances = 100;
const utteranceSeconds = 0.2;
const pauseMs = 100;
const moreMsMax = 60; // speech leaves up to 20 ms before its slot, which a browser takes for jitter
const growthMsMax = 50; // from the first utterances to the last

const tone = (second) => 0.3 * Math.sin(2 * Math.PI * 440 * second);

// A promise of the mean time that a sample waited in the page's jitter buffer while `work` ran.
async function meanDelayMs(page, work) {
  const before = await page.evaluate(inbound);
  await work;
  const after = await page.evaluate(inbound);
  return 1000 * (after.jitterBufferDelay - before.jitterBufferDelay) /
    (after.jitterBufferEmittedCount - before.jitterBufferEmittedCount);
}

async function talk(agent, count) {
  for (let i = 0; i < count; i++) {
    const id = agent.say(utteranceSeconds, tone);
    await until(`utterance ${id} is played`, () => agent.playback.some(
      ({ utterance, state }) => utterance === id && state === 'done'));
    await sleep(pauseMs);
  }
}

// The call beside it, of which the agent says nothing, tells what this machine's own jitter does.
async function checkDelay(agent, page, quietPage) {
  const [talking, quiet] = [[], []];
  for (let tenth = 0; tenth < 10; tenth++) {
    const work = talk(agent, utterances / 10);
    const [ms, quietMs] =
      await Promise.all([meanDelayMs(page, work), meanDelayMs(quietPage, work)]);
    talking.push(ms);
    quiet.push(quietMs);
  }
  check('every sample of the delay is a number', [...talking, ...quiet].every(Number.isFinite),
    [talking, quiet]);
  console.log('ms of delay, each ten utterances:', talking.map(Math.round).join(' '));
  console.log('ms of delay, the call beside it: ', quiet.map(Math.round).join(' '));
  const more = talking.map((ms, tenth) => ms - quiet[tenth]).slice(-3).sort((a, b) => a - b);
  check(`after ${utterances} utterances sound waits at most ${moreMsMax} ms longer than in silence`,
    more[1] <= moreMsMax, more);
  const growth = (delays) => delays.at(-1) - delays[0];
  check(`the last ten wait at most ${growthMsMax} ms longer than the first ten`,
    growth(talking) - Math.max(0, growth(quiet)) <= growthMsMax,
    [growth(talking), growth(quiet)]);
}

// A key held for two seconds: Chromium sends one event, in segments of 1.3 s (RFC 4733 s.2.5.1.3).
async function checkDigit(agent, page) {
  const canInsert = await page.evaluate(() => {
    const [sender] = window.connections.at(-1).getSenders();
    if (!sender.dtmf.canInsertDTMF) return false;
    sender.dtmf.insertDTMF('5', 2000);
    return true;
  });
  check('the answer has telephone-event', canInsert);
  await until('the digit arrives', () => agent.dtmf.length > 0);
  await sleep(2500); // were it ended early, the rest of the press would be another
  check('a press of 2 s is one digit', agent.dtmf.length === 1 && agent.dtmf[0].digit === '5',
    agent.dtmf);
}

const agent = new Agent();
await agent.listen(agentPort);
useBackend(agentPort);
await withSuite([], async () => {
  const browser = await openChromium();
  const quietPage = await openCall(browser);
  const page = await openCall(browser); // the agent speaks in the newest call
  await checkDigit(agent, page);
  for (const call of [quietPage, page]) {
    await until('the call is heard', () => call.evaluate(isHeard));
  }
  await checkDelay(agent, page, quietPage);
  const reasons = agent.playback.filter(({ state }) => state === 'done');
  check('each was played to its end', reasons.length === utterances &&
    reasons.every(({ reason }) => reason === 'played'), reasons.length);
  await browser.close();
});
agent.close();
