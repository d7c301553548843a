// page_events_test.mjs - what the demo page makes of events: bubbles, tools, interruption, the log
import { callsPath, location } from './far_end.mjs';
import { browser, call, message, silence, talk, test, waitForState } from './page_kit.mjs';
import { artefacts, check, sleep, until } from './suite.mjs';

const session = { id: 'sess_1', type: 'realtime', audio: {} };
const words = 'The quick brown fox jumps over the lazy dog, and then it goes home to sleep. ' +
  'Tomorrow it will jump again, if it does not rain.';

const turns = (page) => page.evaluate(() => window.earshot.turns);
const textOf = async (page, who) => (await turns(page)).findLast((turn) => turn.who === who)?.text;
const part = { response_id: 'resp_1', item_id: 'item_a', output_index: 0, content_index: 0 };

// A call whose event channel is open.
async function callWithEvents(page, farEnd) {
  await call(page);
  await until('the channel opens', () => farEnd.tab.evaluate(() =>
    window.channel?.readyState === 'open'));
  await farEnd.say({ type: 'session.created', session });
  await until('the session is updated',
    async () => (await farEnd.heard('session.update')).length > 0);
}

async function userSays(farEnd, id, transcript) {
  await farEnd.say({ type: 'input_audio_buffer.speech_started', item_id: id, audio_start_ms: 0 });
  await farEnd.say({ type: 'input_audio_buffer.speech_stopped', item_id: id, audio_end_ms: 900 });
  await farEnd.say({ type: 'conversation.item.input_audio_transcription.completed',
    item_id: id, content_index: 0, transcript });
}

// The whole answer is generated at once, and its sound begins.
async function agentBegins(farEnd, text = words) {
  const item = { id: 'item_a', type: 'message', role: 'assistant', status: 'in_progress' };
  await farEnd.say({ type: 'response.created',
    response: { id: 'resp_1', status: 'in_progress', output: [] } });
  await farEnd.say({ type: 'response.output_item.added', response_id: 'resp_1', output_index: 0,
    item: { ...item, content: [] } });
  await farEnd.say({ type: 'output_audio_buffer.started', response_id: 'resp_1' });
  await farEnd.say({ type: 'response.output_audio_transcript.delta', ...part, delta: text });
  await farEnd.say({ type: 'response.output_item.done', response_id: 'resp_1', output_index: 0,
    item: { ...item, content: [{ type: 'output_audio', transcript: text }] } });
  await farEnd.say({ type: 'response.done',
    response: { id: 'resp_1', status: 'completed', output: [] } });
}

await test('words appear as they are heard', {}, async (page, farEnd, complaints) => {
  await callWithEvents(page, farEnd);
  await userSays(farEnd, 'item_u', 'Tell me a story');
  await until('the user is shown', async () => await textOf(page, 'you') === 'Tell me a story');
  await agentBegins(farEnd);
  await until('the first words are shown', async () => (await textOf(page, 'agent'))?.length > 0);
  check('not all of them', (await textOf(page, 'agent')).length < words.length,
    await textOf(page, 'agent'));
  const early = (await textOf(page, 'agent')).length;
  await until('more follow', async () => (await textOf(page, 'agent')).length > early);
  check('whole words', words.startsWith(await textOf(page, 'agent')), await textOf(page, 'agent'));
  check('the agent is speaking', await page.evaluate(() => window.earshot.isSpeaking));
  await farEnd.say({ type: 'output_audio_buffer.stopped', response_id: 'resp_1' });
  await until('all of them when the sound ends',
    async () => await textOf(page, 'agent') === words);
  check('nothing is refused or thrown', complaints.length === 0, complaints);
});

await test('an interruption leaves what was heard', {}, async (page, farEnd) => {
  await callWithEvents(page, farEnd);
  await agentBegins(farEnd);
  await until('the first words are shown', async () => (await textOf(page, 'agent'))?.length > 20);
  await page.getByRole('button', { name: 'Interrupt' }).click();
  await until('the server hears of it',
    async () => (await farEnd.heard('output_audio_buffer.clear')).length === 1);
  check('a response that is over is not cancelled',
    (await farEnd.heard('response.cancel')).length === 0);
  await farEnd.say({ type: 'output_audio_buffer.cleared', response_id: 'resp_1' });
  await farEnd.say({ type: 'conversation.item.truncated', item_id: 'item_a', content_index: 0,
    audio_end_ms: 1000 });
  await page.getByText('interrupted after 1.0 s').waitFor();
  const said = await textOf(page, 'agent');
  check('some words stay as said', said.length > 0 && said.length < 40, said);
  await sleep(300);
  check('and no more follow', await textOf(page, 'agent') === said);
  check('nothing is left to interrupt',
    await page.getByRole('button', { name: 'Interrupt' }).isDisabled());
});

await test('a response that is being generated is cancelled', {}, async (page, farEnd) => {
  await callWithEvents(page, farEnd);
  await farEnd.say({ type: 'response.created',
    response: { id: 'resp_1', status: 'in_progress', output: [] } });
  await page.locator('#interrupt:enabled').click();
  await until('both are sent', async () => (await farEnd.heard('response.cancel')).length === 1 &&
    (await farEnd.heard('output_audio_buffer.clear')).length === 1);
});

await test('a tool runs in the page, then an answer is asked for', {}, async (page, farEnd) => {
  await callWithEvents(page, farEnd);
  const [{ session: declared }] = await farEnd.heard('session.update');
  check('the session declares its tools', declared.tools.map((tool) => tool.name).join() ===
    'get_local_time,roll_dice', declared.tools);
  const item = { id: 'item_f', type: 'function_call', name: 'roll_dice', call_id: 'call_1' };
  const args = '{"sides":6,"count":2}';
  await farEnd.say({ type: 'response.created',
    response: { id: 'resp_1', status: 'in_progress', output: [] } });
  await farEnd.say({ type: 'response.output_item.added', response_id: 'resp_1', output_index: 0,
    item: { ...item, status: 'in_progress', arguments: '' } });
  await farEnd.say({ type: 'response.output_item.done', response_id: 'resp_1', output_index: 0,
    item: { ...item, status: 'completed', arguments: args } });
  await until('its output is sent',
    async () => (await farEnd.heard('conversation.item.create')).length === 1);
  const [{ item: sent }] = await farEnd.heard('conversation.item.create');
  check('of this call', sent.type === 'function_call_output' && sent.call_id === 'call_1', sent);
  const { dice } = JSON.parse(sent.output);
  check('two dice of six sides', dice.length === 2 &&
    dice.every((die) => Number.isInteger(die) && die >= 1 && die <= 6), dice);
  check('the next response waits for the end of this one',
    (await farEnd.heard('response.create')).length === 0);
  await farEnd.say({ type: 'response.done',
    response: { id: 'resp_1', status: 'completed', output: [] } });
  await until('then it is asked for',
    async () => (await farEnd.heard('response.create')).length === 1);
  check('the call and its result are shown',
    await page.getByText('roll_dice({ "sides": 6, "count": 2 })').isVisible() &&
    await page.getByText('→ { "dice": [').isVisible());
  await page.setViewportSize({ width: 320, height: 568 });
  await page.locator('#conversation').screenshot({ path: `${artefacts}/page-tool-phone.png` });

  await page.getByLabel('roll_dice').uncheck();
  await until('a tool that is taken back is declared no more', async () => {
    const last = (await farEnd.heard('session.update')).at(-1);
    return last.session.tools.length === 1;
  });
});

await test('what is typed is said', {}, async (page, farEnd) => {
  await callWithEvents(page, farEnd);
  await page.getByLabel('Type to the agent').fill('What time is it?');
  await page.keyboard.press('Enter');
  await until('it is sent', async () => (await farEnd.heard('response.create')).length === 1);
  const [{ item }] = await farEnd.heard('conversation.item.create');
  check('as an item of the user', item.role === 'user' &&
    item.content[0].text === 'What time is it?', item);
  check('the line is empty again', await page.getByLabel('Type to the agent').inputValue() === '');
  await farEnd.say({ type: 'conversation.item.added', previous_item_id: null,
    item: { id: 'item_t', status: 'completed', ...item } });
  await until('it is shown', async () => await textOf(page, 'you') === 'What time is it?');
  await page.getByLabel('Type to the agent').press('Escape');
  check('Escape leaves the line, not the call',
    await page.evaluate(() => window.earshot.state) === 'talking');
});

await test('the log is filtered and copied', {}, async (page, farEnd) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write', 'microphone']);
  await callWithEvents(page, farEnd);
  await userSays(farEnd, 'item_u', 'Tell me a story');
  await agentBegins(farEnd);
  await farEnd.say({ type: 'error', error: { type: 'invalid_request_error', code: 'invalid_value',
    message: 'type: there is no such event', param: 'type', event_id: 'page_9' } });
  await page.getByText('there is no such event').waitFor();
  await page.locator('#events > summary').click();
  const shown = () => page.locator('#event-list > li').count();
  const all = await page.evaluate(() => window.earshot.events.length);
  check('all events are there', await shown() === all && all >= 11, [await shown(), all]);
  await page.getByLabel('Filter the events').fill('response. -delta -output_item');
  check('the filter takes words and leaves words', await shown() === 2, await shown());
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).trim().split('\n');
  check('what is shown is copied', lines.map((line) => JSON.parse(line).event.type).join() ===
    'response.created,response.done', lines);
  await page.locator('#event-list summary').first().click();
  await page.getByText('"in_progress"').waitFor();
  await page.screenshot({ path: `${artefacts}/page-events.png`, fullPage: true });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 320, height: 568 });
  check('it fits a small phone',
    await page.evaluate(() => document.documentElement.scrollWidth) === 320);
  await page.screenshot({ path: `${artefacts}/page-events-phone.png`, fullPage: true });
});

await test('an agent without events is said to be one', {}, async (page, farEnd) => {
  await call(page);
  await until('it is said', async () =>
    (await message(page)).includes('This agent has no events: it only speaks'));
  check('where its words would be', (await page.locator('#turns').getAttribute('data-empty'))
    .includes('is not written down'));
  check('and in the line', await page.getByPlaceholder('It takes no text').isDisabled());
  await farEnd.say({ type: 'session.created', session });
  await until('until it says one', async () => (await message(page)).includes('listens'));
  check('the line can be used', await page.getByPlaceholder('Type to the agent').isEnabled());
});

await test('an agent that is lost is away until it says something', {}, async (page, farEnd) => {
  const serverError = (code) => farEnd.say({ type: 'error', error: { type: 'server_error', code,
    message: code, param: null, event_id: null } });
  await callWithEvents(page, farEnd);
  await serverError('backend_lost');
  await until('it is away', async () => (await message(page)).includes('The agent is away'));
  await sleep(500);
  check('what it had said is still played', (await message(page)).includes('is away'));
  await farEnd.say({ type: 'session.created', session });
  await until('it is back', async () => (await message(page)).includes('The agent listens'));
  await serverError('session_expiring');
  await until('the end is told', async () =>
    (await message(page)).includes('This call ends in 30 s.'));
  check('the call goes on', await page.evaluate(() => window.earshot.state) === 'talking');
});

await test('a phone that is turned still shows the end', {}, async (page, farEnd) => {
  await page.setViewportSize({ width: 568, height: 320 });
  await callWithEvents(page, farEnd);
  await page.locator('#events > summary').click();
  for (let i = 0; i < 12; i++) await userSays(farEnd, `item_${i}`, words);
  const hiddenPx = (list) => page.locator(list).evaluate((node) =>
    node.scrollHeight - node.scrollTop - node.clientHeight);
  for (const [width, height] of [[320, 568], [568, 320], [320, 568]]) {
    await page.setViewportSize({ width, height });
    for (const list of ['#turns', '#event-list']) {
      await until(`${list} is at its end, ${width} wide`, async () => await hiddenPx(list) < 2);
    }
  }
  await page.locator('#turns').evaluate((node) => { node.scrollTop = 0; });
  await sleep(100);
  await userSays(farEnd, 'item_last', words);
  await sleep(200);
  check('who has scrolled up is left there', await page.locator('#turns')
    .evaluate((node) => node.scrollTop) === 0);
});

await test('a way that is lost and found is told', {}, async (page, farEnd) => {
  await callWithEvents(page, farEnd);
  farEnd.canRepair = true;
  await silence(farEnd);
  await waitForState(page, 'reconnecting', 6000);
  await waitForState(page, 'talking', 10000);
  const notes = (await turns(page)).filter(({ who }) => who === 'note').map(({ text }) => text);
  check('both are told', notes.length === 2 && notes[0].includes('looking for another path') &&
    /back after \d+\.\d s/.test(notes[1]), notes);
  check('by one PATCH', farEnd.count(`PATCH ${location}`) === 1, farEnd.requests);
  await userSays(farEnd, 'item_u', 'Are you there?');
  await until('events go on', async () => await textOf(page, 'you') === 'Are you there?');
});

await test('a second call has a new conversation and the same secret', {}, async (page, farEnd) => {
  await callWithEvents(page, farEnd);
  await userSays(farEnd, 'item_u', 'Tell me a story');
  await until('the user is shown', async () => await textOf(page, 'you') === 'Tell me a story');
  await talk(page);
  await waitForState(page, 'ended');
  check('what was said stays', await textOf(page, 'you') === 'Tell me a story');
  check('nothing can be typed', await page.getByLabel('Type to the agent').isDisabled());
  await callWithEvents(page, farEnd);
  check('it begins empty', (await turns(page)).length === 0);
  check('one secret for two calls', farEnd.count('POST /demo/secret') === 1 &&
    farEnd.count(`POST ${callsPath}`) === 2, farEnd.requests);
});

await browser.close();
