// parrot_test.mjs - the default voice: it greets, waits for the end of a turn, and says the turn back
import { inbound } from './page.mjs';
import { openCall, openChromium } from './chromium.mjs';
import { artefacts, check, metric, sleep, until, withSuite, writeWav } from './suite.mjs';

const spokenMs = 1500;
const silentMs = 8500;

// A voice-like hum: harmonics of 140 Hz that swell four times a second, then silence.
const turn = (second) => {
  if (second >= spokenMs / 1000) return 0;
  let sum = 0;
  for (let harmonic = 1; harmonic <= 12; harmonic++) sum += Math.sin(2 * Math.PI * 140 * harmonic * second) / harmonic;
  return 0.25 * sum * (0.6 + 0.4 * Math.sin(2 * Math.PI * 4 * second));
};

await withSuite([], async () => {
  const microphone = writeWav(`${artefacts}/turn.wav`, (spokenMs + silentMs) / 1000, turn);
  const browser = await openChromium(microphone);
  const page = await openCall(browser);
  const energy = async () => (await page.evaluate(inbound)).totalAudioEnergy ?? 0;
  const spoken = () => metric('inference-stub', 'earshot_stub_turns_total', 'outcome="said"');

  await until('the greeting is heard', async () => await energy() > 0.001);
  check('the greeting is heard', true);
  await until('a turn is said back', async () => await spoken() >= 1, 25000);
  // What is said back is as long as the turn: by its end the ear has had it, and then it is quiet.
  await sleep(spokenMs + 1500);
  const afterTurn = await energy();
  check('the turn is heard', afterTurn > 0.002, afterTurn);
  await page.screenshot({ path: `${artefacts}/page-with-the-parrot.png` });
  const quietBefore = await energy();
  await sleep(1000);
  const quiet = await energy() - quietBefore;
  check('then the agent is silent', quiet < 0.0005, quiet);
  check('nothing was lost', (await page.evaluate(inbound)).packetsLost === 0);
  await browser.close();
});
