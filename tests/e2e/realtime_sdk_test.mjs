// realtime_sdk_test.mjs - a spoken conversation with the unmodified @openai/agents-realtime
import { openChromium } from './chromium.mjs';
import { checkEvents } from './realtime_rules.mjs';
import { hangUp, openSdkPage, SdkCall, secret, servePackages, writeSpeech } from './sdk_kit.mjs';
import { check, sleep, until, withSuite } from './suite.mjs';

const connectMsMax = 4900; // at 5 s the package gives up waiting for session.updated
const silenceMsMax = 600;
const turnMs = 1500;
const script = { tool_on_turn: 1, tool: 'get_weather', args: { city: 'Oslo' }, speak_ms: 9000 };
const instructions = `You are a test voice.\n#stub ${JSON.stringify(script)}`;

// A turn of `turnMs`; the item that the server makes of it.
async function speak(call) {
  const from = call.mark;
  await call.do('speak', true);
  const started = await call.wait('input_audio_buffer.speech_started', undefined, from);
  await sleep(turnMs);
  await call.do('speak', false);
  const item = ({ item_id: id }) => id === started.event.item_id;
  const stopped = await call.wait('input_audio_buffer.speech_stopped', item, from);
  await call.wait('input_audio_buffer.committed', item, from);
  return { started, stopped, itemId: started.event.item_id };
}

async function checkFirstTurn(call) {
  await sleep(500);
  await call.look();
  check('nobody speaks while the microphone is muted',
    !call.find('input_audio_buffer.speech_started'));
  const { started, stopped, itemId } = await speak(call);
  check('a turn has a length', stopped.event.audio_end_ms > started.event.audio_start_ms,
    [started.event.audio_start_ms, stopped.event.audio_end_ms]);
  const { event } = await call.wait('conversation.item.input_audio_transcription.completed',
    ({ item_id: id }) => id === itemId);
  await until('its words are in the history', async () => (await call.look()).history.some((item) =>
    item.itemId === itemId && item.content[0].transcript === event.transcript));
}

async function checkTool(call) {
  const output = await call.wait('conversation.item.added',
    ({ item }) => item.type === 'function_call_output');
  check('the tool ran once, with the arguments', call.toolCalls.length === 1 &&
    call.toolCalls[0].city === 'Oslo', call.toolCalls);
  const { event } = call.find('response.output_item.done',
    ({ item }) => item.type === 'function_call');
  check('its output belongs to the call', output.event.item.call_id === event.item.call_id);
  const from = call.events.indexOf(output);
  await call.wait('response.created', undefined, from);
  await until('the history has it as completed', async () => (await call.look()).history.some(
    (item) => item.type === 'function_call' && item.status === 'completed' && item.output));
}

async function checkSound(call) {
  await call.wait('output_audio_buffer.started');
  await call.waitForSound();
  const before = await call.do('stats');
  await sleep(1000);
  const after = await call.do('stats');
  await call.look();
  const perSecond = 1000 * (after.received - before.received) / (after.ms - before.ms);
  check('fifty packets a second', Math.abs(perSecond - 50) < 15, perSecond);
  const loud = call.loudness(before.ms, after.ms);
  check('a third of it is loud', loud >= 0.3, loud);
  check('the track has a stream', call.hasStream);
  await until('its words are handed on', async () => (await call.look()).deltas.length >= 3);
}

// What must hold once an answer was cut off: how long it sounded, and that it does no more.
async function checkCut(call, started, from) {
  const { response_id: id } = started.event;
  const cleared = await call.wait('output_audio_buffer.cleared',
    ({ response_id: of }) => of === id, from);
  const { event } = await call.wait('conversation.item.truncated', undefined, from);
  const played = cleared.ms - started.ms;
  check('it is truncated at what was played', event.audio_end_ms > 0 &&
    event.audio_end_ms < played + 400 && event.audio_end_ms > played - 1000,
    [event.audio_end_ms, Math.round(played)]);
  const goesOnMs = await call.goesOnMs(cleared.ms);
  check(`it is silent within ${silenceMsMax} ms`, goesOnMs <= silenceMsMax, goesOnMs);
  return cleared;
}

const lastStarted = (call) =>
  call.events.findLast(({ event }) => event.type === 'output_audio_buffer.started');

// An answer that sounds, asked for by typing if there is none.
async function answer(call) {
  await call.look();
  const last = call.events.findLast(({ event }) => /^output_audio_buffer\./.test(event.type));
  if (last?.event.type === 'output_audio_buffer.started') return last;
  const from = call.mark;
  await call.do('sendMessage', 'Please say something long.');
  const started = await call.wait('output_audio_buffer.started', undefined, from);
  await call.waitForSound();
  return started;
}

async function checkBargeIn(call) {
  const started = await answer(call);
  const from = call.mark;
  const speaking = speak(call);
  const cleared = await checkCut(call, started, from);
  const { started: speech } = await speaking;
  check('speech came before the end of the sound',
    call.events.indexOf(speech) < call.events.indexOf(cleared));
  const next = await call.wait('output_audio_buffer.started', undefined,
    call.events.indexOf(cleared));
  await call.waitForSound();
  check('what was said into it is answered', next.event.response_id !== started.event.response_id);
}

async function checkInterrupt(call) {
  const started = await answer(call);
  await call.wait('response.done', ({ response }) => response.id === started.event.response_id);
  await call.waitForSound();
  const from = call.mark;
  await call.do('interrupt');
  await checkCut(call, started, from);
  check('no error is said', !call.find('error', undefined, from));
}

async function checkTyped(call) {
  const from = call.mark;
  await call.do('sendMessage', 'typed words');
  await call.wait('conversation.item.done', ({ item }) => item.role === 'user' &&
    item.content[0].text === 'typed words', from);
  await call.wait('output_audio_buffer.started', undefined, from);
  await call.waitForSound();
  check('typed words are answered aloud', lastStarted(call).ms > call.events[from].ms);
}

async function checkErrors(call) {
  await call.do('interrupt');
  await until('nothing is generated', async () => {
    await call.look();
    const count = (type) => call.events.filter(({ event }) => event.type === type).length;
    return count('response.created') === count('response.done');
  });
  for (const [id, event, code] of [
    ['e_unknown', { type: 'no.such.event' }, 'invalid_value'],
    ['e_cancel', { type: 'response.cancel' }, 'response_cancel_not_active'],
    ['e_item', { type: 'conversation.item.retrieve', item_id: 'item_none' }, 'item_not_found'],
  ]) {
    await call.do('send', { ...event, event_id: id });
    const seen = await call.wait('error', ({ error }) => error.event_id === id);
    check(`${event.type}: ${code}`, seen.event.error.code === code, seen.event.error);
  }
  check('the session goes on', call.states.at(-1).state === 'connected', call.states);
}

async function checkHangUp(call, callId) {
  await answer(call);
  const errors = call.errors.length;
  const { status } = await hangUp(callId);
  check('hanging up is answered with 200', status === 200, status);
  await until('the package is disconnected',
    async () => (await call.look()).states.at(-1).state === 'disconnected', 3000);
  check('without an error', call.errors.length === errors, call.errors.slice(errors));
}

const packages = await servePackages();
const microphone = await writeSpeech();
await withSuite([], async () => {
  const browser = await openChromium(microphone);
  const call = new SdkCall(await openSdkPage(browser, packages), 'agents');
  const key = await secret();
  const { connectMs, callId } = await call.openAgents({ key, instructions, hasTool: true });
  check('it connects', connectMs < connectMsMax, Math.round(connectMs));
  check('it knows its call', /^rtc_/.test(callId), callId);
  await checkFirstTurn(call);
  await checkTool(call);
  await checkSound(call);
  await checkBargeIn(call);
  await checkInterrupt(call);
  await checkTyped(call);
  await checkErrors(call);
  await checkHangUp(call, callId);
  const faults = checkEvents(call.events.map(({ event }) => event));
  check('every event is as it must be', faults.length === 0, faults.slice(0, 5));
  check('and came as text', call.isText);
  check('the package complained of nothing', call.complaints.length === 0, call.complaints);
  await browser.close();
});
packages.close();
