// parrot_test.mjs - the parrot greets, says each turn back, and falls silent when the user speaks
import { openCall, openChromium } from './chromium.mjs';
import { inbound, recordLevels } from './page.mjs';
import { artefacts, check, metric, until, withSuite, writeWav } from './suite.mjs';
import { checkAnswer, checkInterruption, sounds, speech } from './turns.mjs';

// What the microphone says, in seconds of a file that Chromium plays from the moment it is opened:
// a turn into the greeting, a long turn, and one into what is said back of it.
const turns = [
  { name: 'a turn into the greeting', start: 3, end: 4.5 },
  { name: 'a long turn', start: 8, end: 12 },
  { name: 'a turn into the answer', start: 14.5, end: 16 },
];
const fileSeconds = 30;
const traceSeconds = 20; // the last answer is over by then

await withSuite(['--mode', 'parrot'], async () => {
  const microphone = writeWav(`${artefacts}/turns.wav`, fileSeconds, speech(turns));
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
  checkInterruption(turns[0].name, intoGreeting, agent, trace);
  checkAnswer(turns[0].name, intoGreeting, agent, true, trace);
  checkAnswer(turns[1].name, long, agent, false, trace);
  checkInterruption(turns[2].name, intoAnswer, agent, trace);
  checkAnswer(turns[2].name, intoAnswer, agent, true, trace);

  const said = await metric('inference-stub', 'earshot_stub_turns_total', 'outcome="said"');
  check('the stub heard three turns', said === turns.length, said);
  const bargeIns = await metric('inference-stub', 'earshot_stub_barge_ins_total');
  check('and was interrupted twice', bargeIns === 2, bargeIns);
  check('nothing was lost', (await page.evaluate(inbound)).packetsLost === 0);
  await browser.close();
});
