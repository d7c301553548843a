/* timeline.js - how long each step of a call's set-up took, as numbers and as bars */

/* In the order in which they end; each begins where the one before it ended. */
const steps = [
  ['request', 'Request'],
  ['ice', 'ICE'],
  ['dtls', 'DTLS'],
  ['firstAudio', 'First audio'],
];

export class Timeline {
  #startedAt = performance.now();
  #endedAt = new Map();

  /* The first end of a step counts. */
  mark(name) {
    if (!this.#endedAt.has(name)) {
      this.#endedAt.set(name, performance.now() - this.#startedAt);
    }
  }

  /* Milliseconds from the start of the call to the end of each step that is done. */
  get ends() {
    return Object.fromEntries(this.#endedAt);
  }
}

function element(tag, className) {
  const node = document.createElement(tag);
  node.className = className;
  return node;
}

export class TimelineView {
  #rows = [];
  #total;

  constructor(list, total) {
    this.#total = total;
    for (const [name, label] of steps) {
      const row = element('li', 'step');
      const labelNode = element('span', 'step-name');
      labelNode.textContent = label;
      const track = element('span', 'step-track');
      const bar = element('span', 'step-bar');
      const time = element('span', 'step-time');
      track.append(bar);
      row.append(labelNode, track, time);
      list.append(row);
      this.#rows.push({ name, bar, time });
    }
    this.show({});
  }

  show(ends) {
    const wholeMs = Math.max(1, ...Object.values(ends));
    let startMs = 0;
    for (const { name, bar, time } of this.#rows) {
      const endMs = ends[name];
      const isDone = endMs !== undefined;
      bar.hidden = !isDone;
      time.textContent = isDone ? `${Math.round(endMs - startMs)} ms` : '';
      if (isDone) {
        bar.style.marginLeft = `${(100 * startMs) / wholeMs}%`;
        bar.style.width = `${(100 * (endMs - startMs)) / wholeMs}%`;
        startMs = endMs;
      }
    }
    this.#total.textContent = ends.firstAudio ? `${Math.round(ends.firstAudio)} ms in all` : '';
  }
}
