/* conversation_card.js - the card with what was said: bubbles, a line to type, interrupt, tools */

import { Conversation } from './conversation.js';
import { toolNames } from './tools.js';
import { TranscriptView } from './transcript.js';

const byId = (id) => document.getElementById(id);

export class ConversationCard {
  #view = new TranscriptView(byId('turns'));
  #conversation = null;

  constructor() {
    for (const name of toolNames) {
      byId('tools').append(toolSwitch(name, () => this.#conversation?.offerTools(chosenTools())));
    }
    byId('composer').addEventListener('submit', (event) => this.#submit(event));
    byId('interrupt').addEventListener('click', () => this.#conversation?.interrupt());
    byId('typed').addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        event.stopPropagation(); // of the line, not of the call
        event.target.blur();
      }
    });
    this.#showActivity(false);
  }

  get turns() {
    return this.#view.shown;
  }

  get isSpeaking() {
    return this.#conversation?.isSpeaking ?? false;
  }

  /* A person has pressed Talk. */
  clear() {
    this.#view.clear();
  }

  /* The conversation of one call, whose events these are. */
  begin(events) {
    this.end();
    const conversation = new Conversation(events, chosenTools());
    this.#conversation = conversation;
    conversation.addEventListener('turn', ({ detail: turn }) => this.#view.update(turn));
    conversation.addEventListener('gone', ({ detail: id }) => this.#view.remove(id));
    const showActivity = (isReady) =>
      this.#conversation === conversation && this.#showActivity(isReady);
    conversation.addEventListener('activity', () => showActivity(events.isOpen));
    conversation.addEventListener('ready', () => showActivity(true));
    events.addEventListener('closed', () => showActivity(false));
  }

  end() {
    this.#conversation?.end();
    this.#conversation = null;
    this.#showActivity(false);
  }

  note(text) {
    this.#conversation?.note(text);
  }

  tick() {
    this.#view.tick();
  }

  #submit(event) {
    event.preventDefault();
    const text = byId('typed').value.trim();
    if (text !== '' && this.#conversation) {
      this.#conversation.say(text);
      byId('typed').value = '';
    }
  }

  #showActivity(isReady) {
    const { isSpeaking = false, isAnswering = false } = this.#conversation ?? {};
    byId('typed').disabled = !isReady;
    byId('send').disabled = !isReady;
    byId('interrupt').disabled = !isReady || !(isSpeaking || isAnswering);
  }
}

function toolSwitch(name, changed) {
  const label = document.createElement('label');
  const box = document.createElement('input');
  box.type = 'checkbox';
  box.name = name;
  box.checked = true;
  box.addEventListener('change', changed);
  label.append(box, name);
  return label;
}

const chosenTools = () => toolNames.filter((name) => document.getElementsByName(name)[0].checked);
