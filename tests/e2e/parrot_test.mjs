// parrot_test.mjs - the default voice: it greets, says each turn back, and falls silent when the
// user speaks
import { openCall, openChromium } from './chromium.mjs';
import { inbound, recordLevels } from './page.mjs';
import { artefacts, check, metric, until, withSuite, writeWav } from './suite.mjs';

// What the microphone says, in seconds of a file that Chromium plays from the moment it is opened:
// a turn into the greeting, a long turn, and one into what is said back of it.
const turns = [
  { name: 'a turn into the greeting', start: 3, end: 4.5 },
  { name: 'a long turn', start: 8, end: 12 },
  { name: 'a turn into the answer', start: 14.5, end: 16 },
];
const fileSeconds = 30;
const traceSeconds = 20; // the last answer is over by then

const quietLevel = 1e-4; // mean square: -40 dB
const pauseSeconds = 0.4; // within one utterance
const silenceMsMax = 400; // from the user's first sound to the agent's silence
const answerMsMax = 1500; // from the user's last sound to the first of the answer

// A voice-like hum: harmonics of 140 Hz that swell four times a second.
function hum(second) {
  let sum = 0;
  for (let harmonic = 1; harmonic <= 12; harmonic++) {
    sum += Math.sin(2 * Math.PI * 140 * harmonic * second) / harmonic;
  }
  return 0.25 * sum * (0.6 + 0.4 * Math.sin(2 * Math.PI * 4 * second));
}

const speech = (second) =>
  (turns.some(({ start, end }) => second >= start && second < end) ? hum(second) : 0);

// Stretches of sound of one voice of the trace: { start, end, energy }.
function sounds(trace, voice) {
  const found = [];
  for (const [i, { second, [voice]: level }] of trace.entries()) {
    if (level < quietLevel) continue;
    if (second - (found.at(-1)?.end ?? -Infinity) > pauseSeconds) {
      found.push({ start: second, end: second, energy: 0 });
    }
    const last = found.at(-1);
    last.end = second;
    last.energy += level * (second - (trace[i - 1]?.second ?? second));
  }
  return found;
}

const ms = (seconds) => Math.round(1000 * seconds);

// The agent's sound that `turn` interrupts, and how long it goes on under it.
function checkInterruption(name, turn, agent) {
  const cut = agent.find(({ start, end }) => start < turn.start && end > turn.start);
  check(`${name}: the agent was speaking`, turn.start - (cut?.start ?? turn.start) > 0.5, cut);
  const goesOnMs = ms((cut?.end ?? Infinity) - turn.start);
  check(`${name}: it falls silent within ${silenceMsMax} ms`, goesOnMs <= silenceMsMax, goesOnMs);
}

// The agent's first sound after `turn`: soon, as loud, and, if nobody interrupts it, as long.
function checkAnswer(name, turn, agent, isWhole) {
  const answer = agent.find(({ start }) => start > turn.end);
  const afterMs = ms((answer?.start ?? Infinity) - turn.end);
  check(`${name}: it is said back within ${answerMsMax} ms`, afterMs <= answerMsMax, afterMs);
  if (!isWhole || !answer) return;
  const longer = (answer.end - answer.start) - (turn.end - turn.start);
  check(`${name}: what is said back is as long`, Math.abs(longer) < 0.5, ms(longer));
  const louder = answer.energy / turn.energy;
  check(`${name}: what is said back is as loud`, louder > 0.5 && louder < 2, louder);
}

await withSuite([], async () => {
  const microphone = writeWav(`${artefacts}/turns.wav`, fileSeconds, speech);
  const browser = await openChromium(microphone);
  const page = await openCall(browser);
  const tracing = page.evaluate(recordLevels(1000 * traceSeconds));
  await until('a turn is said back',
    async () => await metric('inference-stub', 'earshot_stub_turns_total', 'outcome="said"') > 0);
  await page.screenshot({ path: `${artefacts}/page-with-the-parrot.png` });
  const trace = await tracing;

  const user = sounds(trace, 'user');
  const agent = sounds(trace, 'agent');
  console.log('user ', JSON.stringify(user));
  console.log('agent', JSON.stringify(agent));
  check('the microphone spoke three times', user.length === turns.length, user.length);
  check('the agent spoke four times', agent.length === 1 + turns.length, agent.length);
  check('it began, before the user did', agent[0].start < user[0].start, agent[0].start);
  const [intoGreeting, long, intoAnswer] = user;
  checkInterruption(turns[0].name, intoGreeting, agent);
  checkAnswer(turns[0].name, intoGreeting, agent, true);
  checkAnswer(turns[1].name, long, agent, false);
  checkInterruption(turns[2].name, intoAnswer, agent);
  checkAnswer(turns[2].name, intoAnswer, agent, true);

  const said = await metric('inference-stub', 'earshot_stub_turns_total', 'outcome="said"');
  check('the stub heard three turns', said === turns.length, said);
  const bargeIns = await metric('inference-stub', 'earshot_stub_barge_ins_total');
  check('and was interrupted twice', bargeIns === 2, bargeIns);
  check('nothing was lost', (await page.evaluate(inbound)).packetsLost === 0);
  await browser.close();
});
