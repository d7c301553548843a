// realtime_rules.mjs - what every session's server events must be: their fields, and their order
//
// A field's letters: s string, n number, o object, a array, 0 null.

const part = { response_id: 's', item_id: 's', output_index: 'n', content_index: 'n' };
const output = { response_id: 's', output_index: 'n', item: 'o' };
const argument = { response_id: 's', item_id: 's', output_index: 'n', call_id: 's' };

const fields = {
  'session.created': { session: 'o' },
  'session.updated': { session: 'o' },
  'conversation.item.added': { item: 'o', previous_item_id: 's0' },
  'conversation.item.done': { item: 'o', previous_item_id: 's0' },
  'conversation.item.retrieved': { item: 'o' },
  'conversation.item.deleted': { item_id: 's' },
  'conversation.item.truncated': { item_id: 's', content_index: 'n', audio_end_ms: 'n' },
  'conversation.item.input_audio_transcription.delta':
    { item_id: 's', content_index: 'n', delta: 's' },
  'conversation.item.input_audio_transcription.completed':
    { item_id: 's', content_index: 'n', transcript: 's' },
  'input_audio_buffer.speech_started': { item_id: 's', audio_start_ms: 'n' },
  'input_audio_buffer.speech_stopped': { item_id: 's', audio_end_ms: 'n' },
  'input_audio_buffer.committed': { item_id: 's', previous_item_id: 's0' },
  'input_audio_buffer.cleared': {},
  'response.created': { response: 'o' },
  'response.done': { response: 'o' },
  'response.output_item.added': output,
  'response.output_item.done': output,
  'response.content_part.added': { ...part, part: 'o' },
  'response.content_part.done': { ...part, part: 'o' },
  'response.output_audio_transcript.delta': { ...part, delta: 's' },
  'response.output_audio_transcript.done': { ...part, transcript: 's' },
  'response.output_text.delta': { ...part, delta: 's' },
  'response.output_text.done': { ...part, text: 's' },
  'response.output_audio.done': part,
  'response.function_call_arguments.delta': { ...argument, delta: 's' },
  'response.function_call_arguments.done': { ...argument, arguments: 's' },
  'output_audio_buffer.started': { response_id: 's' },
  'output_audio_buffer.stopped': { response_id: 's' },
  'output_audio_buffer.cleared': { response_id: 's' },
  error: { error: 'o' },
};
const itemFields = {
  message: { id: 's', role: 's', content: 'a' },
  function_call: { id: 's', name: 's', call_id: 's', arguments: 's' },
  function_call_output: { id: 's', call_id: 's', output: 's' },
};
const errorFields = { type: 's', code: 's0', message: 's', param: 's0', event_id: 's0' };
const itemStates = ['in_progress', 'completed', 'incomplete', undefined];
const responseStates = ['in_progress', 'completed', 'incomplete', 'failed', 'cancelled'];
const partTypes = {
  user: ['input_text', 'input_audio'], assistant: ['output_audio', 'output_text'],
  system: ['input_text'],
};

function letter(value) {
  if (value === null) return '0';
  if (Array.isArray(value)) return 'a';
  return { string: 's', number: 'n', object: 'o' }[typeof value] ?? '-';
}

const wrongFields = (value, wanted, name) => Object.entries(wanted)
  .filter(([key, letters]) => !letters.includes(letter(value[key])))
  .map(([key]) => `${name}: ${key} is ${JSON.stringify(value[key])}`);

function wrongItem(item, name) {
  const found = wrongFields(item, itemFields[item.type] ?? { type: 'never' }, name);
  if (!itemStates.includes(item.status)) found.push(`${name}: status ${item.status}`);
  for (const { type, ...rest } of item.content ?? []) {
    if (!partTypes[item.role]?.includes(type)) found.push(`${name}: ${item.role} says ${type}`);
    if (type === 'input_audio' && !('transcript' in rest)) found.push(`${name}: no transcript key`);
  }
  return found;
}

function wrongEvent(event) {
  const { type } = event;
  const found = wrongFields(event, { event_id: 's', ...fields[type] }, type);
  if (!fields[type]) found.push(`${type} is no event of this API`);
  if (event.item) found.push(...wrongItem(event.item, type));
  if (event.error) found.push(...wrongFields(event.error, errorFields, type));
  if (event.response) {
    found.push(...wrongFields(event.response, { id: 's', status: 's', output: 'a' }, type));
    if (!responseStates.includes(event.response.status)) found.push(`${type}: its status`);
    event.response.output?.forEach((item) => found.push(...wrongItem(item, type)));
  }
  return found;
}

// What of the order one event breaks; `seen` is what came before.
const order = {
  'response.created': ({ response }, seen) => {
    const active = seen.active;
    seen.active = response.id;
    seen.responses.add(response.id);
    return active && `${response.id} begins inside of ${active}`;
  },
  'response.done': ({ response }, seen) => {
    const active = seen.active;
    seen.active = '';
    return active !== response.id && `${response.id} ends, but ${active} is active`;
  },
  'conversation.item.added': ({ item }, seen) => {
    const isKnown = seen.items.has(item.id);
    seen.items.add(item.id);
    return isKnown && `${item.id} is added twice`;
  },
  'conversation.item.done': ({ item }, seen) =>
    !seen.items.has(item.id) && `${item.id} is done, but was not added`,
  'response.output_item.done': ({ item }, seen) => {
    if (item.type !== 'function_call' || item.status !== 'completed') return false;
    const isKnown = seen.toolCalls.has(item.call_id);
    seen.toolCalls.add(item.call_id);
    return isKnown && `${item.call_id} is called twice`;
  },
  'output_audio_buffer.started': ({ response_id: id }, seen) => {
    const playing = seen.playing;
    seen.playing = id;
    if (playing) return `${id} sounds while ${playing} does`;
    return !seen.responses.has(id) && `${id} sounds before it is created`;
  },
  'output_audio_buffer.stopped': endOfSound,
  'output_audio_buffer.cleared': endOfSound,
};

function endOfSound({ type, response_id: id }, seen) {
  const playing = seen.playing;
  seen.playing = '';
  return playing !== id && `${type} of ${id}, but ${playing} sounds`;
}

// Everything that is wrong with the events of one client, in the order in which they came.
export function checkEvents(events) {
  const seen = {
    active: '', playing: '', ids: new Set(), items: new Set(), responses: new Set(),
    toolCalls: new Set(),
  };
  const found = [];
  if (events[0]?.type !== 'session.created') found.push(`the first event is ${events[0]?.type}`);
  for (const event of events) {
    found.push(...wrongEvent(event));
    if (seen.ids.has(event.event_id)) found.push(`${event.event_id} is used twice`);
    seen.ids.add(event.event_id);
    const broken = order[event.type]?.(event, seen);
    if (broken) found.push(broken);
  }
  return found;
}
