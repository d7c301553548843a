// firefox_call_test.mjs - the same page in a real Firefox, over the address that dev up advertises
import { openFirefox } from './marionette.mjs';
import { inbound, watchConnections } from './page.mjs';
import { artefacts, check, metric, pageUrl, until, withSuite } from './suite.mjs';

// A promise of the frequency that comes back, by its zero crossings. Without a sound device Firefox
// runs no AudioContext, so the page's meters are blind, but it records, and decodes what it
// recorded. The first half is left out: there the voice's first packets come.
const recordedHz = `(async () => {
  const recorder = new MediaRecorder(document.querySelector('audio').srcObject);
  const parts = [];
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const stopped = new Promise((resolve) => { recorder.onstop = resolve; });
  recorder.start();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  recorder.stop();
  await stopped;
  const context = new OfflineAudioContext(1, 1, 48000);
  const sound = await context.decodeAudioData(await new Blob(parts).arrayBuffer());
  const samples = sound.getChannelData(0).slice(sound.length / 2);
  const crossings = samples.filter((sample, i) => i > 0 && samples[i - 1] < 0 && sample >= 0);
  return crossings.length * sound.sampleRate / samples.length;
})()`;

await withSuite(['--mode', 'echo'], async () => {
  const firefox = await openFirefox();
  await firefox.goto(`${pageUrl}?echo=1`);
  await firefox.evaluate(watchConnections);
  await firefox.evaluate(`document.querySelector('button').click()`);
  await until('the call connects', () => firefox.evaluate(`window.earshot.state === 'talking'`),
    30000);
  await until('audio comes back',
    () => firefox.evaluate(`window.earshot.stats.packetsReceived > 100`));
  const hz = await firefox.evaluateAsync(recordedHz);
  check('the frequency that comes back is 440 +- 5 Hz', Math.abs(hz - 440) <= 5, hz);
  const stats = await firefox.evaluateAsync(inbound);
  await firefox.screenshot(`${artefacts}/page-in-a-call-firefox.png`);
  check('no packet is lost', stats.packetsLost === 0, stats);
  await until('what comes back is no silence',
    async () => (await firefox.evaluateAsync(inbound)).audioLevel > 0.02);
  check('the relay has one confirmed flow',
    await metric('relay', 'earshot_relay_flows', 'state="confirmed"') === 1);

  await firefox.evaluate(`document.querySelector('button').click()`);
  await until('the session ends',
    async () => await metric('transceiver', 'earshot_transceiver_sessions_active') === 0);
  const ended = 'earshot_transceiver_sessions_ended_total';
  check('hanging up is the reason', await metric('transceiver', ended, 'reason="hangup"') === 1);
  await firefox.close();
});
