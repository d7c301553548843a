/*
 * call.js - one call: an offer, one POST, one peer connection, one DELETE; a PATCH for a new path
 *
 * The answer carries every candidate of the server, so nothing is gathered or trickled.
 * Events: "step" (the timeline has one more), "connected", "lost" (the path of a connected call; a
 * restart may find another), "closed" (detail: a CallError, or null when the server ended a call
 * that had been connected). A call that was closed here says nothing more.
 */

import { authorization, forgetSecret } from './access.js';
import { CallError } from './call_error.js';
import { EventChannel } from './event_channel.js';
import { fragmentOf, withCredentials } from './sdp_fragment.js';
import { Timeline } from './timeline.js';

const CALLS_PATH = '/v1/realtime/calls';
const GOODBYE_MS_MAX = 1000;
const PATCH_MS_MAX = 3000;
const FIRST_AUDIO_POLL_MS = 10;

export class Call extends EventTarget {
  timeline = new Timeline();
  stream = new MediaStream();
  #connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
  #key = {}; // the header that proves who made the call
  #location = '';
  #answer = '';
  #isClosed = false;
  #isConnected = false;
  #setupMsMax;
  #setupTimer;
  #audioTimer;

  /* setupMsMax: from open to the end of DTLS. */
  constructor(microphone, setupMsMax) {
    super();
    this.#setupMsMax = setupMsMax;
    const [track] = microphone.getAudioTracks();
    this.#connection.addTransceiver(track, { direction: 'sendrecv', streams: [microphone] });
    this.events = new EventChannel(this.#connection);
    this.#connection.ontrack = (event) => this.stream.addTrack(event.track);
    this.#connection.oniceconnectionstatechange = () => this.#iceChanged();
  }

  get connection() {
    return this.#connection;
  }

  /* Ends in "connected" or in "closed". */
  async open() {
    this.#setupTimer = setTimeout(() => this.#setupTookTooLong(), this.#setupMsMax);
    try {
      this.#key = await authorization();
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

  /* Connected, and not closed since: restart makes sense. */
  get isOpen() {
    return this.#isConnected && !this.#isClosed && this.#location !== '';
  }

  /* Looks for another path with new credentials (RFC 9725, section 4.3): packets tell of success.
   * Throws a CallError: server_silent, or what the server said. */
  async restart() {
    const offer = await this.#connection.createOffer({ iceRestart: true });
    await this.#connection.setLocalDescription(offer);
    try {
      const sdp = withCredentials(this.#answer, await this.#patch(fragmentOf(offer.sdp)));
      await this.#connection.setRemoteDescription({ type: 'answer', sdp });
      this.#answer = sdp;
    } catch (error) {
      await this.#connection.setLocalDescription({ type: 'rollback' }).catch(() => {});
      throw error instanceof CallError ? error : new CallError('answer_unusable');
    }
  }

  /* The server hears of it by the DELETE, not by the end of DTLS: only then it knows why. */
  async close() {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    clearTimeout(this.#setupTimer);
    clearInterval(this.#audioTimer);
    await this.#delete();
    this.#connection.close();
  }

  async #request(sdp) {
    const response = await fetch(CALLS_PATH, {
      method: 'POST',
      headers: { ...this.#key, 'Content-Type': 'application/sdp' },
      body: sdp,
    }).catch(() => {
      throw new CallError('server_silent');
    });
    if (response.status === 401) {
      forgetSecret();
    }
    if (!response.ok) {
      throw await CallError.of(response);
    }
    this.#location = response.headers.get('Location') ?? '';
    if (this.#isClosed) {
      this.#delete(); // the call was made after all
    }
    const answer = await response.text();
    this.#mark('request');
    return answer;
  }

  async #patch(fragment) {
    const response = await fetch(this.#location, {
      method: 'PATCH',
      headers: {
        ...this.#key,
        'Content-Type': 'application/trickle-ice-sdpfrag',
        'If-Match': '*',
      },
      body: fragment,
      signal: AbortSignal.timeout(PATCH_MS_MAX),
    }).catch(() => {
      throw new CallError('server_silent');
    });
    if (!response.ok) {
      throw await CallError.of(response);
    }
    return response.text();
  }

  async #apply(sdp) {
    this.#answer = sdp;
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
    } else if (this.isOpen && (state === 'disconnected' || state === 'failed')) {
      this.dispatchEvent(new Event('lost'));
    } else if (state === 'failed') {
      this.#fail(new CallError('no_path'));
    }
  }

  #dtlsChanged(state) {
    if (state === 'connected' && !this.#isConnected) {
      this.#isConnected = true;
      clearTimeout(this.#setupTimer);
      this.#mark('ice'); // its own event may come later
      this.#mark('dtls');
      this.dispatchEvent(new Event('connected'));
    } else if (state === 'failed' || state === 'closed') {
      this.#ended();
    }
  }

  #ended() {
    if (this.#isConnected) {
      this.#location = ''; // there is nothing left to delete
      this.#fail(null);
    } else {
      this.#fail(new CallError('no_path'));
    }
  }

  #setupTookTooLong() {
    this.#fail(new CallError(this.#location ? 'no_path' : 'server_silent'));
  }

  /* Neither browser has an event for the first packet that is heard. */
  #awaitAudio() {
    if (this.#isClosed) {
      return;
    }
    this.#audioTimer = setInterval(() => {
      const [receiver] = this.#connection.getReceivers();
      if (receiver.getSynchronizationSources().length > 0) {
        clearInterval(this.#audioTimer);
        this.#mark('firstAudio');
      }
    }, FIRST_AUDIO_POLL_MS);
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

  /* Ends with the answer, which may be late: the connection is closed all the same then.
   * keepalive: the request outlives the page that is being left. */
  async #delete() {
    if (!this.#location) {
      return;
    }
    const signal = AbortSignal.timeout(GOODBYE_MS_MAX);
    const options = { method: 'DELETE', headers: this.#key, keepalive: true, signal };
    await fetch(this.#location, options).catch(() => {});
    this.#location = '';
  }
}
