/*
 * transcript.js - turns as bubbles; the agent's words appear as they are heard, not as they arrive
 *
 * Nobody says how long an answer will sound. So words appear at the pace of the answers before it,
 * and all of them when its sound ends. What an interruption cut off stays, marked as not said.
 */

import { EndFollower } from './end_follower.js';

const PACE_FIRST = 14; // characters a second
const PACE_LEAST = 6;
const PACE_MOST = 30;
const LEARNING = 0.5; // how much one answer changes the pace
const LEAD_CHARACTERS = 6; // a word stands there when it begins to sound

const clamp = (value, least, most) => Math.min(most, Math.max(least, value));

/* The end of the word at `position`. */
function wordEnd(text, position) {
  const end = text.slice(position).search(/\s/);
  return end < 0 ? text.length : position + end;
}

function element(tag, className, text = '') {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

const names = { you: 'You', agent: 'Agent', tool: 'Tool', note: 'Note' };

export class TranscriptView {
  #list;
  #end;
  #rows = new Map(); // turn id: { turn, node, said, unsaid, aside }
  #pace = PACE_FIRST;

  constructor(list) {
    this.#list = list;
    this.#end = new EndFollower(list);
  }

  clear() {
    this.#rows.clear();
    this.#list.replaceChildren();
    this.#end.restart();
  }

  update(turn) {
    const row = this.#rows.get(turn.id) ?? this.#add(turn);
    if (turn.endedAt !== null && !turn.isCut && !row.isLearned && !turn.isOpen) {
      row.isLearned = true;
      this.#learn(turn);
    }
    this.#draw(row);
  }

  remove(id) {
    this.#rows.get(id)?.node.remove();
    this.#rows.delete(id);
  }

  /* Time has passed. */
  tick() {
    for (const row of this.#rows.values()) {
      if (row.turn.startedAt !== null && !row.isWhole) {
        this.#draw(row);
      }
    }
  }

  /* As a person sees them: { who, text }. */
  get shown() {
    return [...this.#rows.values()]
      .filter(({ node }) => !node.hidden)
      .map(({ turn, said }) => ({ who: turn.who, text: said.textContent }));
  }

  #learn({ text, startedAt, endedAt }) {
    const seconds = (endedAt - startedAt) / 1000;
    if (seconds > 1 && text.length > 0) {
      const pace = clamp(text.length / seconds, PACE_LEAST, PACE_MOST);
      this.#pace += LEARNING * (pace - this.#pace);
    }
  }

  #add(turn) {
    const node = element('li', `turn ${turn.who}`);
    const row = {
      turn,
      node,
      said: element('span', 'said'),
      unsaid: element('span', 'unsaid'),
      aside: element('span', 'aside'),
    };
    node.append(element('span', 'who', names[turn.who]), row.said, row.unsaid, row.aside);
    this.#rows.set(turn.id, row);
    this.#list.append(node);
    return row;
  }

  #draw(row) {
    const { turn, node, said, unsaid, aside } = row;
    const count = this.#shownCharacters(turn);
    row.isWhole = !turn.isOpen && (turn.endedAt !== null || turn.startedAt === null);
    const text = turn.who === 'tool' ? toolText(turn) : turn.text;
    said.textContent = text.slice(0, count);
    unsaid.textContent = turn.isCut ? text.slice(count) : '';
    aside.textContent = asideOf(turn);
    node.hidden = turn.who === 'agent' && count === 0 && !turn.isCut;
    node.classList.toggle('is-error', turn.isError);
    node.classList.toggle('is-open', turn.isOpen && turn.who === 'you' && text === '');
    node.setAttribute('aria-busy', String(!row.isWhole));
    this.#end.follow();
  }

  #shownCharacters(turn) {
    if (turn.who !== 'agent' || !turn.isSpoken || (turn.endedAt !== null && !turn.isCut)) {
      return Infinity;
    }
    if (turn.startedAt === null) {
      return 0;
    }
    const ms = turn.heardMs ?? (turn.endedAt ?? performance.now()) - turn.startedAt;
    const lead = turn.isCut ? 0 : LEAD_CHARACTERS;
    const characters = Math.round((this.#pace * ms) / 1000) + lead;
    return characters > 0 ? wordEnd(turn.text, characters) : 0;
  }
}

/* JSON on one line, which may be broken at its spaces; what is none, as it is. */
function spaced(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 1).replace(/\n\s*/g, ' ');
  } catch {
    return json;
  }
}

function toolText({ name, text }) {
  return `${name}(${text === '{}' ? '' : spaced(text)})`;
}

function asideOf({ who, text, isOpen, isCut, isError, heardMs, result }) {
  if (who === 'tool') {
    return result === null ? (isError ? 'not completed' : '') : `→\u00a0${spaced(result)}`;
  }
  if (who === 'you' && text === '') {
    return isError ? 'not understood' : isOpen ? 'speaking' : '';
  }
  if (isCut) {
    const after = heardMs === null ? '' : ` after ${(heardMs / 1000).toFixed(1)} s`;
    return `interrupted${after}`;
  }
  return '';
}
