// realtime_openai_test.mjs - calls of the unmodified openai package: every way to offer, and ends
import { openChromium } from './chromium.mjs';
import { checkEvents } from './realtime_rules.mjs';
import {
  ask, hangUp, openSdkPage, SdkCall, secret, servePackages, writeSpeech,
} from './sdk_kit.mjs';
import { check, until, withSuite } from './suite.mjs';

const wholeMs = 15000;
const forgottenMs = 5000; // after the client has gone

const closedAs = (call, how) =>
  until(`${call.name} is ${how}`, async () => (await call.look()).states.some(
    ({ state }) => state === how), wholeMs);

async function checkAnswer(call, { status, type, sdp }) {
  check(`${call.name}: 201 with an answer`, status === 201 && /^application\/sdp\b/.test(type),
    [status, type]);
  check(`${call.name}: it ends its last line`, sdp.endsWith('\r\n'));
  check(`${call.name}: it has the sections of the offer`, sdp.match(/^m=/gm).length === 2 &&
    /^a=candidate:/m.test(sdp), sdp.match(/^m=.*/gm));
}

async function speaks(call) {
  const from = call.mark;
  await call.do('send', { type: 'conversation.item.create', item: { type: 'message', role: 'user',
    content: [{ type: 'input_text', text: 'hello' }] } });
  await call.do('send', { type: 'response.create' });
  await call.wait('output_audio_buffer.started', undefined, from);
  await call.waitForSound();
}

async function checkWhole(call, key) {
  const { answer, callId } = await call.openOpenai({ key });
  await checkAnswer(call, answer);
  await call.wait('session.created');
  await speaks(call);
  check('it hangs up', (await hangUp(callId)).status === 200);
  await closedAs(call, 'closed:remote');
  check('quietly', call.errors.length === 0, call.errors);
  const faults = checkEvents(call.events.map(({ event }) => event));
  check('every event is as it must be', faults.length === 0, faults.slice(0, 5));
}

// A session in the form is laid over that of the secret, field by field.
async function checkForm(call) {
  const key = await secret({ instructions: 'of the secret', output_modalities: ['text'] });
  const session = { type: 'realtime', instructions: 'of the form' };
  const { answer, callId } = await call.openOpenai({ key, way: 'form', session });
  await checkAnswer(call, answer);
  const { event } = await call.wait('session.created');
  check('the form goes before the secret, field by field',
    event.session.instructions === 'of the form' &&
    event.session.output_modalities.join() === 'text', event.session);
  await call.do('close');
  await closedAs(call, 'closed:local');
  await until('the server has forgotten the call',
    async () => (await hangUp(callId)).status === 404, forgottenMs);
}

async function checkOlderPath(call, key) {
  const { answer, callId } = await call.openOpenai({ key, way: 'older' });
  await checkAnswer(call, answer);
  await call.wait('session.created');
  const { status } = await ask('DELETE', `/realtime/calls/${callId}`);
  check('DELETE ends it too', status === 200, status);
  await closedAs(call, 'closed:remote');
  check('quietly', call.errors.length === 0, call.errors);
}

const packages = await servePackages();
const microphone = await writeSpeech();
await withSuite([], async () => {
  const browser = await openChromium(microphone);
  const evaluate = await openSdkPage(browser, packages);
  const key = await secret({ instructions: '#stub {"speak_ms":4000}' });
  await checkWhole(new SdkCall(evaluate, 'raw'), key);
  await checkForm(new SdkCall(evaluate, 'form'));
  await checkOlderPath(new SdkCall(evaluate, 'older path'), key);
  await browser.close();
});
packages.close();
