/*
 * event_log.js - the events of both sides, to be looked through and copied
 *
 * A filter is words: an event is shown if its JSON has each of them, and none that begins with "-".
 */

import { EndFollower } from './end_follower.js';

const ENTRIES_MAX = 1000; // the oldest goes
const COPIED_MS = 1500;

const matches = (text, filter) =>
  filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '-')
    .every((word) => (word[0] === '-' ? !text.includes(word.slice(1)) : text.includes(word)));

/* A name of events may be broken behind a dot or an underscore. */
const breakable = (name) =>
  name.split(/(?<=[._])/).flatMap((part) => [part, document.createElement('wbr')]);

export class EventLog {
  #entries = []; // { atMs, isOurs, event, text, node }
  #began = performance.now();
  #parts;
  #end;

  /* parts: { details, list, filter, copy, clear, count }, elements of the page. */
  constructor(parts) {
    this.#parts = parts;
    this.#end = new EndFollower(parts.list);
    parts.filter.addEventListener('input', () => this.#show());
    parts.details.addEventListener('toggle', () => this.#show());
    parts.copy.addEventListener('click', () => this.#copy());
    parts.clear.addEventListener('click', () => this.clear());
    this.#count();
  }

  get entries() {
    return this.#entries.map(({ atMs, isOurs, event }) => ({ atMs, isOurs, event }));
  }

  clear() {
    this.#entries = [];
    this.#show();
  }

  /* Times count from here. */
  restart() {
    this.#began = performance.now();
  }

  add({ isOurs, event }) {
    const atMs = Math.round(performance.now() - this.#began);
    const text = `${isOurs ? 'sent' : 'received'} ${JSON.stringify(event)}`.toLowerCase();
    const entry = { atMs, isOurs, event, text, node: null };
    this.#entries.push(entry);
    if (this.#entries.length > ENTRIES_MAX) {
      this.#entries.shift().node?.remove();
    }
    if (this.#parts.details.open && matches(text, this.#parts.filter.value)) {
      this.#append(entry);
    }
    this.#count();
  }

  get #matching() {
    return this.#entries.filter(({ text }) => matches(text, this.#parts.filter.value));
  }

  #show() {
    this.#parts.list.replaceChildren();
    this.#end.restart();
    this.#entries.forEach((entry) => { entry.node = null; });
    if (this.#parts.details.open) {
      this.#matching.forEach((entry) => this.#append(entry));
    }
    this.#count();
  }

  #count() {
    const all = this.#entries.length;
    const shown = this.#parts.filter.value.trim() === '' ? all : this.#matching.length;
    this.#parts.count.textContent = shown === all ? `${all}` : `${shown} of ${all}`;
    this.#parts.copy.disabled = shown === 0;
    this.#parts.clear.disabled = all === 0;
  }

  #append(entry) {
    const { list } = this.#parts;
    entry.node = document.createElement('li');
    entry.node.className = entry.isOurs ? 'entry sent' : 'entry received';
    const details = document.createElement('details');
    const summary = document.createElement('summary');
    const type = document.createElement('span');
    const time = document.createElement('span');
    type.className = 'entry-type';
    type.append(entry.isOurs ? '↑\u00a0' : '↓\u00a0', ...breakable(`${entry.event?.type ?? '?'}`));
    time.className = 'entry-time';
    time.textContent = `${(entry.atMs / 1000).toFixed(2)} s`;
    summary.append(type, time);
    details.append(summary);
    details.addEventListener('toggle', () => {
      if (details.childElementCount === 1) {
        const json = document.createElement('pre');
        json.textContent = JSON.stringify(entry.event, null, 2);
        details.append(json);
      }
      this.#end.look(); // who reads on in it has left the end
    });
    entry.node.append(details);
    list.append(entry.node);
    this.#end.follow();
  }

  /* One line an event: what is shown, with its time and its side. */
  async #copy() {
    const lines = this.#matching.map(({ atMs, isOurs, event }) =>
      JSON.stringify({ at_ms: atMs, from: isOurs ? 'client' : 'server', event }));
    const { copy } = this.#parts;
    try {
      await navigator.clipboard.writeText(`${lines.join('\n')}\n`);
      copy.textContent = 'Copied';
    } catch {
      copy.textContent = 'Not allowed';
    }
    setTimeout(() => { copy.textContent = 'Copy'; }, COPIED_MS);
  }
}
