/*
 * call.js - one call: an offer, one POST, one peer connection, one DELETE
 *
 * The answer carries every candidate of the server, so nothing is gathered or trickled.
 * Events: "step" (the timeline has one more), "connected", "notice" (detail: a code of the server),
 * "closed" (detail: a CallError, or null when the server ended a call that had been connected).
 * A call that was closed here says nothing more.
 */

import { Timeline } from './timeline.js';

const CALLS_PATH = '/v1/realtime/calls';
const REQUEST_MS_MAX = 10000;
const SETUP_MS_MAX = 15000;
const FIRST_AUDIO_POLL_MS = 10;

export class CallError extends Error {
  constructor(code, message = '') {
    super(message);
    this.code = code;
  }
}

/* {"error":{"message":"...","code":"..."}}, or whatever else came. */
async function refusal(response) {
  const body = await response.json().catch(() => null);
  return new CallError(
    body?.error?.code ?? 'refused',
    body?.error?.message ?? `The server answered with status ${response.status}.`,
  );
}

export class Call extends EventTarget {
  timeline = new Timeline();
  stream = new MediaStream();
  #connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
  #location = '';
  #isClosed = false;
  #isConnected = false;
  #timers = [];

  constructor(microphone) {
    super();
    const [track] = microphone.getAudioTracks();
    this.#connection.addTransceiver(track, { direction: 'sendrecv', streams: [microphone] });
    this.#connection.createDataChannel('oai-events').onmessage = ({ data }) => this.#hear(data);
    this.#connection.ontrack = (event) => this.stream.addTrack(event.track);
    this.#connection.oniceconnectionstatechange = () => this.#iceChanged();
  }

  get connection() {
    return this.#connection;
  }

  /* Ends in "connected" or in "closed". */
  async open() {
    try {
      const offer = await this.#connection.createOffer();
      const [answer] = await Promise.all([
        this.#request(offer.sdp),
        this.#connection.setLocalDescription(offer),
      ]);
      await this.#apply(answer);
    } catch (error) {
      this.#fail(error instanceof CallError ? error : new CallError('answer_unusable'));
    }
  }

  close() {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    this.#timers.forEach(clearInterval);
    this.#connection.close();
    this.#delete();
  }

  async #request(sdp) {
    const response = await fetch(CALLS_PATH, {
      method: 'POST',
      headers: { 'Content-Type': 'application/sdp' },
      body: sdp,
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    }).catch(() => {
      throw new CallError('server_silent');
    });
    if (!response.ok) {
      throw await refusal(response);
    }
    this.#location = response.headers.get('Location') ?? '';
    if (this.#isClosed) {
      this.#delete(); // the call was made after all
    }
    const answer = await response.text();
    this.#mark('request');
    return answer;
  }

  async #apply(sdp) {
    this.#timers.push(setTimeout(() => this.#fail(new CallError('no_path')), SETUP_MS_MAX));
    await this.#connection.setRemoteDescription({ type: 'answer', sdp });
    const { transport } = this.#connection.getSenders()[0];
    transport.onstatechange = () => this.#dtlsChanged(transport.state);
    this.#dtlsChanged(transport.state);
    this.#awaitAudio();
  }

  #iceChanged() {
    const state = this.#connection.iceConnectionState;
    if (state === 'connected' || state === 'completed') {
      this.#mark('ice');
    } else if (state === 'failed') {
      this.#fail(new CallError(this.#isConnected ? 'sound_stopped' : 'no_path'));
    }
  }

  #dtlsChanged(state) {
    if (state === 'connected' && !this.#isConnected) {
      this.#isConnected = true;
      clearTimeout(this.#timers[0]);
      this.#mark('ice'); // its own event may come later
      this.#mark('dtls');
      this.dispatchEvent(new Event('connected'));
    } else if (state === 'failed' || state === 'closed') {
      this.#fail(this.#isConnected ? null : new CallError('no_path'));
    }
  }

  /* Neither browser has an event for the first packet that is heard. */
  #awaitAudio() {
    const timer = setInterval(() => {
      const [receiver] = this.#connection.getReceivers();
      if (receiver.getSynchronizationSources().length > 0) {
        clearInterval(timer);
        this.#mark('firstAudio');
      }
    }, FIRST_AUDIO_POLL_MS);
    this.#timers.push(timer);
  }

  #hear(data) {
    let event = null;
    try {
      event = JSON.parse(data);
    } catch {
      return; // not for us
    }
    if (event?.type === 'error' && event.error?.code) {
      this.dispatchEvent(new CustomEvent('notice', { detail: event.error.code }));
    }
  }

  #mark(step) {
    if (!this.#isClosed) {
      this.timeline.mark(step);
      this.dispatchEvent(new Event('step'));
    }
  }

  #fail(error) {
    if (!this.#isClosed) {
      this.close();
      this.dispatchEvent(new CustomEvent('closed', { detail: error }));
    }
  }

  /* keepalive: the request outlives the page that is being left. */
  #delete() {
    if (this.#location) {
      fetch(this.#location, { method: 'DELETE', keepalive: true }).catch(() => {});
      this.#location = '';
    }
  }
}
