/*
 * event_channel.js - the events of a call: a data channel, one JSON object a message
 *
 * Events: "event" (detail: what the server said), "entry" (detail: { isOurs, event }, of both
 * sides, in their order: for a log), "closed".
 */

const LABEL = 'oai-events';

export class EventChannel extends EventTarget {
  #channel;
  #sent = 0;

  constructor(connection) {
    super();
    this.#channel = connection.createDataChannel(LABEL);
    this.#channel.onclose = () => this.dispatchEvent(new Event('closed'));
    this.#channel.onmessage = ({ data }) => this.#hear(data);
  }

  get isOpen() {
    return this.#channel.readyState === 'open';
  }

  /* The event's id, by which an error names it; '' when there is nobody to hear it. */
  send(event) {
    if (!this.isOpen) {
      return '';
    }
    this.#sent++;
    const whole = { event_id: `page_${this.#sent}`, ...event };
    this.#channel.send(JSON.stringify(whole));
    this.#tell('entry', { isOurs: true, event: whole });
    return whole.event_id;
  }

  #hear(data) {
    let event;
    try {
      event = JSON.parse(data);
    } catch {
      return; // no server of this API says so
    }
    this.#tell('entry', { isOurs: false, event });
    this.#tell('event', event);
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
