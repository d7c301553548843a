/*
 * presence.js - how it is with the agent of one call, as far as its events and its sound tell
 *
 * state: 'here'; 'eventless': it is heard and says no event; 'away': the server has lost it, and
 * waits for another one. Event: "change", of state or of msLeft.
 */

const NO_EVENT_MS = 2000; // after the first sound: its channel opens long before
const AWAY_MS_MAX = 6000; // a server waits 5 s and ends the call: one that goes on has an agent
const PAUSE_MS = 1000; // what an agent had said before it was lost is played without such a pause
const AUDIBLE = 0.05; // of a meter's level
const NOTICE_MS = 30000; // that a server gives before it ends a call

export class Presence extends EventTarget {
  #isAway = false;
  #isEventless = false;
  #hasEvents = false;
  #audibleAt = 0;
  #endsAt = null;
  #awayTimer;
  #eventTimer;

  /* events: an EventChannel. */
  constructor(events) {
    super();
    events.addEventListener('event', ({ detail }) => this.#take(detail));
  }

  get state() {
    return this.#isAway ? 'away' : this.#isEventless ? 'eventless' : 'here';
  }

  /* Until the server ends the call; null when it has not said so. */
  get msLeft() {
    return this.#endsAt === null ? null : Math.max(0, this.#endsAt - performance.now());
  }

  /* The first packet of sound has come. */
  soundBegan() {
    if (!this.#hasEvents) {
      this.#eventTimer ??= setTimeout(() => this.#setEventless(true), NO_EVENT_MS);
    }
  }

  /* The agent's sound has this level now. */
  hear(level) {
    if (level < AUDIBLE) {
      return;
    }
    const now = performance.now();
    if (now - this.#audibleAt > PAUSE_MS) {
      this.#setAway(false);
    }
    this.#audibleAt = now;
  }

  /* The call is over. */
  end() {
    clearTimeout(this.#awayTimer);
    clearTimeout(this.#eventTimer);
  }

  /* An error may be the server's own: it is no sign of the agent. */
  #take({ type, error }) {
    if (type !== 'error') {
      this.#setAway(false);
    } else if (error?.code === 'backend_lost') {
      this.#audibleAt = performance.now();
      this.#setAway(true);
      this.#awayTimer = setTimeout(() => this.#setAway(false), AWAY_MS_MAX);
    } else if (error?.code === 'session_expiring') {
      this.#endsAt = performance.now() + NOTICE_MS;
      this.#tell();
    }
    if (type === 'session.created') {
      this.#hasEvents = true;
      clearTimeout(this.#eventTimer);
      this.#setEventless(false);
    }
  }

  #setAway(isAway) {
    clearTimeout(this.#awayTimer);
    if (this.#isAway !== isAway) {
      this.#isAway = isAway;
      this.#tell();
    }
  }

  #setEventless(isEventless) {
    if (this.#isEventless !== isEventless) {
      this.#isEventless = isEventless;
      this.#tell();
    }
  }

  #tell() {
    this.dispatchEvent(new Event('change'));
  }
}
