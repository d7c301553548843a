/*
 * conversation.js - what both sides say, out of the events of one call, and what the page answers
 *
 * A turn: { id, who: 'you' | 'agent' | 'tool' | 'note', text, ... }, see newTurn. They stand in the
 * order in which they began. The agent's words arrive long before its sound is played: startedAt
 * and endedAt tell when it was, and the view shows them by that.
 * Events: "turn" (detail: a turn that is new or has changed), "gone" (detail: a turn's id),
 * "activity" (isSpeaking or isAnswering may have changed), "ready" (events can be sent).
 */

import { declarations, runTool } from './tools.js';

/* What the page asks for when nothing is to be said: two of these may cross on their way. */
const HARMLESS = 'response_cancel_not_active';
const BUSY = 'conversation_already_has_active_response';
const TURNS_MAX = 200; // the oldest goes

let notes = 0; // of all calls

function newTurn(id, who) {
  return {
    id,
    who,
    text: '', // of a tool: its arguments
    isOpen: true, // more of it may come
    responseId: '',
    isSpoken: who === 'agent',
    startedAt: null, // performance.now() of its sound
    endedAt: null,
    isCut: false, // it was interrupted
    heardMs: null, // before it was cut
    name: '', // of a tool
    result: null,
    isError: false,
  };
}

export class Conversation extends EventTarget {
  #events;
  #toolNames;
  #turns = new Map();
  #responseId = ''; // of the one that is being generated
  #askedBy = ''; // the event that asked for the next one
  #owesResponse = false;
  #playing = null; // { responseId, startedAt }

  constructor(events, toolNames) {
    super();
    this.#events = events;
    this.#toolNames = toolNames;
    events.addEventListener('event', ({ detail }) => this.#take(detail));
  }

  get isSpeaking() {
    return this.#playing !== null;
  }

  get isAnswering() {
    return this.#responseId !== '' || this.#askedBy !== '';
  }

  get turns() {
    return [...this.#turns.values()];
  }

  say(text) {
    const content = [{ type: 'input_text', text }];
    this.#events.send({
      type: 'conversation.item.create',
      item: { type: 'message', role: 'user', content },
    });
    this.#respond();
  }

  /* The agent's sound stops at once, and so does what it was about to say. */
  interrupt() {
    this.#owesResponse = false;
    if (this.#responseId !== '') {
      this.#events.send({ type: 'response.cancel' });
    }
    this.#events.send({ type: 'output_audio_buffer.clear' });
  }

  offerTools(toolNames) {
    this.#toolNames = toolNames;
    this.#events.send({
      type: 'session.update',
      session: { type: 'realtime', tools: declarations(toolNames), tool_choice: 'auto' },
    });
  }

  /* The call is over: nothing more comes. */
  end() {
    this.#stopPlaying(true);
    this.#turns.forEach((turn) => turn.isOpen && this.#change(turn, { isOpen: false }));
    this.#responseId = '';
    this.#askedBy = '';
    this.#tellActivity();
  }

  note(text, isError = false) {
    notes++;
    this.#change(this.#turn(`note_${notes}`, 'note'), { text, isError, isOpen: false });
  }

  /* One response at a time: the next one waits for the end of the one before. */
  #respond() {
    if (this.isAnswering) {
      this.#owesResponse = true;
      return;
    }
    this.#owesResponse = false;
    this.#askedBy = this.#events.send({ type: 'response.create' });
    this.#tellActivity();
  }

  #begin() {
    this.#events.send({
      type: 'session.update',
      session: {
        type: 'realtime',
        tools: declarations(this.#toolNames),
        tool_choice: 'auto',
        audio: { input: { transcription: { model: 'whisper-1' } } },
      },
    });
    this.dispatchEvent(new Event('ready'));
  }

  #take(event) {
    switch (event.type) {
      case 'session.created':
        return this.#begin();
      case 'error':
        return this.#takeError(event.error ?? {});
      case 'input_audio_buffer.speech_started':
        return this.#turn(event.item_id, 'you');
      case 'conversation.item.input_audio_transcription.delta':
        return this.#append(this.#turn(event.item_id, 'you'), event.delta);
      case 'conversation.item.input_audio_transcription.completed':
        return this.#close(this.#turn(event.item_id, 'you'), event.transcript);
      case 'conversation.item.input_audio_transcription.failed':
        return this.#change(this.#turn(event.item_id, 'you'), { isOpen: false, isError: true });
      case 'conversation.item.added':
        return this.#takeItem(event.item ?? {});
      case 'conversation.item.deleted':
        return this.#forget(event.item_id);
      case 'conversation.item.truncated':
        return this.#change(this.#turns.get(event.item_id), { heardMs: event.audio_end_ms });
      default:
        return this.#takeAnswer(event);
    }
  }

  #takeAnswer(event) {
    switch (event.type) {
      case 'response.created':
        return this.#responseBegan(event.response.id);
      case 'response.output_item.added':
        return this.#takeOutput(event.response_id, event.item ?? {});
      case 'response.output_audio_transcript.delta':
        return this.#append(this.#turns.get(event.item_id), event.delta);
      case 'response.output_text.delta':
        this.#change(this.#turns.get(event.item_id), { isSpoken: false });
        return this.#append(this.#turns.get(event.item_id), event.delta);
      case 'response.function_call_arguments.delta':
        return this.#append(this.#turns.get(event.item_id), event.delta);
      case 'response.output_item.done':
        return this.#takeOutputDone(event.item ?? {});
      case 'response.done':
        return this.#responseEnded(event.response);
      case 'output_audio_buffer.started':
        return this.#startPlaying(event.response_id);
      case 'output_audio_buffer.stopped':
        return this.#stopPlaying(false);
      case 'output_audio_buffer.cleared':
        return this.#stopPlaying(true);
      default:
        return undefined;
    }
  }

  #takeError({ code, message, event_id: cause }) {
    const isAboutResponse = cause && cause === this.#askedBy;
    if (isAboutResponse) {
      this.#askedBy = '';
      this.#owesResponse ||= code === BUSY && this.#responseId !== '';
      this.#tellActivity();
    }
    if (code !== HARMLESS && !(isAboutResponse && code === BUSY)) {
      this.note(message ?? code ?? 'The server reported an error.', true);
    }
  }

  /* An item that was typed, or of a side-band; spoken ones are known before. */
  #takeItem({ id, type, role, content = [] }) {
    if (type !== 'message' || role !== 'user') {
      return;
    }
    const turn = this.#turn(id, 'you');
    const text = content.map((part) => part.text ?? part.transcript ?? '').join(' ');
    if (text !== '') {
      this.#close(turn, text);
    }
  }

  #takeOutput(responseId, { id, type, name = '' }) {
    const turn = this.#turn(id, type === 'function_call' ? 'tool' : 'agent');
    const isPlaying = this.#playing?.responseId === responseId;
    this.#change(turn, {
      responseId,
      name,
      startedAt: turn.startedAt ?? (isPlaying ? this.#playing.startedAt : null),
    });
  }

  #takeOutputDone({ id, type, status, name, call_id: callId, arguments: json, content = [] }) {
    const turn = this.#turns.get(id);
    if (type !== 'function_call') {
      const whole = content.map((part) => part.transcript ?? part.text ?? '').join(' ');
      this.#change(turn, { isOpen: false, text: whole || turn?.text });
      return;
    }
    if (status !== 'completed') {
      this.#change(turn, { isOpen: false, isError: true });
      return;
    }
    const output = runTool(name, json);
    this.#change(turn, { isOpen: false, name, text: json, result: output });
    this.#events.send({
      type: 'conversation.item.create',
      item: { type: 'function_call_output', call_id: callId, output },
    });
    this.#respond();
  }

  #responseBegan(id) {
    this.#responseId = id;
    this.#askedBy = '';
    this.#tellActivity();
  }

  #responseEnded({ id, status, status_details: details }) {
    for (const turn of this.#turns.values()) {
      if (turn.responseId === id && turn.isOpen) {
        this.#change(turn, { isOpen: false });
      }
    }
    if (status === 'failed') {
      this.note(details?.error?.message ?? 'The agent could not answer.', true);
    }
    this.#responseId = '';
    this.#tellActivity();
    if (this.#owesResponse) {
      this.#respond();
    }
  }

  #startPlaying(responseId) {
    this.#stopPlaying(true);
    this.#playing = { responseId, startedAt: performance.now() };
    this.#eachSpoken(responseId, { startedAt: this.#playing.startedAt });
    this.#tellActivity();
  }

  #stopPlaying(isCut) {
    if (this.#playing === null) {
      return;
    }
    const { responseId } = this.#playing;
    this.#playing = null;
    this.#eachSpoken(responseId, { isCut, endedAt: performance.now() });
    this.#tellActivity();
  }

  #eachSpoken(responseId, changes) {
    for (const turn of this.#turns.values()) {
      if (turn.responseId === responseId && turn.isSpoken) {
        this.#change(turn, changes);
      }
    }
  }

  #turn(id, who) {
    let turn = this.#turns.get(id);
    if (!turn) {
      turn = newTurn(id, who);
      this.#turns.set(id, turn);
      this.#change(turn, {});
      if (this.#turns.size > TURNS_MAX) {
        this.#forget(this.#turns.keys().next().value);
      }
    }
    return turn;
  }

  #append(turn, text) {
    this.#change(turn, { text: `${turn?.text ?? ''}${text ?? ''}` });
  }

  #close(turn, text) {
    this.#change(turn, { text, isOpen: false });
  }

  #change(turn, changes) {
    if (turn) {
      Object.assign(turn, changes);
      this.dispatchEvent(new CustomEvent('turn', { detail: turn }));
    }
  }

  #forget(id) {
    if (this.#turns.delete(id)) {
      this.dispatchEvent(new CustomEvent('gone', { detail: id }));
    }
  }

  #tellActivity() {
    this.dispatchEvent(new Event('activity'));
  }
}
