// example_talk_test.mjs - a conversation with each backend of examples/: it says a turn back,
// and stops when it is interrupted
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';

import { openCall, openChromium } from './chromium.mjs';
import { recordLevels } from './page.mjs';
import { artefacts, check, root, sleep, until, useBackend, withSuite, writeWav } from './suite.mjs';
import { checkAnswer, checkInterruption, sounds, speech } from './turns.mjs';

const examples = [
  { port: 7301, program: 'python3', script: 'backend.py' },
  { port: 7302, program: 'node', script: 'backend.mjs' },
];
// What the microphone says, in seconds of its file.
const turns = [
  { name: 'a long turn', start: 5, end: 8 },
  { name: 'a turn into the answer', start: 10.3, end: 11.5 },
];
const fileSeconds = 30;
const traceSeconds = 16; // the last answer is over by then

const listens = (port) => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1');
  socket.once('connect', () => socket.destroy() && resolve(true));
  socket.once('error', () => resolve(false));
});

async function talk({ port, program, script }) {
  const backend = spawn(program, [join(root, 'examples', script), port], { stdio: 'inherit' });
  await until(`${script} listens`, () => listens(port));
  useBackend(port);
  await withSuite([], async () => {
    const microphone = writeWav(`${artefacts}/example-turns.wav`, fileSeconds, speech(turns));
    const browser = await openChromium(microphone);
    const page = await openCall(browser);
    const trace = await page.evaluate(recordLevels(1000 * traceSeconds));
    await browser.close();

    const user = sounds(trace, 'user');
    const agent = sounds(trace, 'agent');
    console.log('user ', JSON.stringify(user));
    console.log('agent', JSON.stringify(agent));
    check(`${script}: two turns, two answers`, user.length === 2 && agent.length === 2,
      [user.length, agent.length]);
    const [long, into] = user;
    checkAnswer(`${script}: ${turns[0].name}`, long, agent, false, trace);
    checkInterruption(`${script}: ${turns[1].name}`, into, agent, trace);
    checkAnswer(`${script}: ${turns[1].name}`, into, agent, true, trace);
  });
  check(`${script} is well`, backend.exitCode === null, backend.exitCode);
  backend.kill();
  await sleep(100);
}

for (const example of examples) await talk(example);
