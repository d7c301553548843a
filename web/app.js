/*
 * app.js - the page: one button, one state, and what a person sees of both
 *
 *   idle -> microphone -> connecting -> talking -> ended
 *                             ^            |
 *                             +- reconnecting      failed, from anywhere
 *
 * Switch: ?echo=1 leaves the microphone unprocessed, so that a tone comes back as it was sent.
 * window.earshot is for tests: see the end of this file.
 */

import { authorization } from './access.js';
import { Call } from './call.js';
import { CallError } from './call_error.js';
import { ConversationCard } from './conversation_card.js';
import { EventLog } from './event_log.js';
import { Meter, Waveform } from './meters.js';
import { closeMicrophone, openMicrophone } from './microphone.js';
import { Presence } from './presence.js';
import { noStats, readStats } from './stats.js';
import {
  againText, backText, clock, emptyText, endedText, failureText, lostText, reconnectText, slowText,
  states, talkingText,
} from './texts.js';
import { TimelineView } from './timeline.js';

const STATS_MS = 250;
const SETUP_MS_MAX = 15000;
const SLOW_MS = 2000;
const SILENT_MS_MAX = 3000;
const ATTEMPTS_MAX = 3;
const ATTEMPT_MS = 3500; // with SILENT_MS_MAX, nobody is left in doubt for 15 s

const byId = (id) => document.getElementById(id);
const timelineView = new TimelineView(byId('steps'), byId('total'));
const waveforms = {
  you: new Waveform(byId('you'), true),
  agent: new Waveform(byId('agent'), false),
};
const conversation = new ConversationCard();
const eventLog = new EventLog({
  details: byId('events'),
  list: byId('event-list'),
  filter: byId('event-filter'),
  copy: byId('event-copy'),
  clear: byId('event-clear'),
  count: byId('event-count'),
});
const isRaw = new URLSearchParams(location.search).get('echo') === '1';

let state = 'idle';
let stats = noStats; // of the latest call, like the timeline
let timeline = {};
let session = null; // what the user began with Talk: at most one

/* What a person sees */

function show(next, text = {}) {
  state = next;
  const { headline, detail, button } = { ...states[next], ...text };
  document.body.dataset.state = next;
  write('headline', headline);
  write('detail', detail);
  write('talk-label', button);
}

/* What has not changed is not read out again. */
function write(id, text) {
  if (byId(id).textContent !== text) {
    byId(id).textContent = text;
  }
}

function showTalking({ presence }) {
  show('talking', talkingText(presence));
}

function showEmpty(hasEvents) {
  const { turns, events, typed } = emptyText(hasEvents);
  byId('turns').dataset.empty = turns;
  byId('event-list').dataset.empty = events;
  byId('typed').placeholder = typed;
}

function number(value, unit, digits = 0) {
  if (value === null) {
    return [];
  }
  const unitNode = document.createElement('span');
  unitNode.className = 'unit';
  unitNode.textContent = unit;
  return [value.toFixed(digits), unitNode];
}

function showStats() {
  const packets = stats.packetsReceived + stats.packetsLost;
  byId('rtt').replaceChildren(...number(stats.rtt, 'ms'));
  byId('loss').replaceChildren(
    ...number(packets > 0 ? (100 * Math.max(0, stats.packetsLost)) / packets : null, '%', 1),
  );
  byId('jitter').replaceChildren(...number(stats.jitter, 'ms', 1));
  byId('path').textContent = stats.path;
}

function showTimeline(ends) {
  timeline = ends;
  timelineView.show(ends);
}

/* One session: a microphone, and one call after the other while sound stops */

async function talk() {
  const mine = { meters: {}, attempts: 0, lostAt: 0, since: 0, heardAt: 0 };
  session = mine;
  stats = noStats;
  showStats();
  showTimeline({});
  byId('elapsed').textContent = '';
  conversation.clear();
  eventLog.restart();
  eventLog.clear();
  showEmpty(true);
  show('microphone');
  authorization().catch(() => {}); // known when it is needed; the call tells what is wrong
  try {
    mine.context = new AudioContext();
    mine.microphone = await openMicrophone(isRaw);
  } catch (error) {
    if (session === mine) {
      fail(error instanceof CallError ? error : new CallError('browser_too_old'));
    }
    return;
  }
  if (session !== mine) {
    closeMicrophone(mine.microphone); // cancelled while the browser asked
    return;
  }
  mine.microphone.getAudioTracks()[0].onended = () => fail(new CallError('microphone_lost'));
  mine.meters.you = new Meter(mine.context, mine.microphone);
  mine.ticker = setInterval(() => tick(mine), STATS_MS);
  requestAnimationFrame(() => animate(mine));
  show('connecting');
  mine.patience = setTimeout(stillConnecting, SLOW_MS);
  dial(mine, SETUP_MS_MAX);
}

function stillConnecting() {
  if (state === 'connecting') {
    byId('detail').textContent = slowText;
  }
}

function dial(mine, setupMsMax) {
  const call = new Call(mine.microphone, setupMsMax);
  mine.call = call;
  mine.presence?.end();
  mine.presence = new Presence(call.events);
  mine.presence.addEventListener('change', () => presenceChanged(mine));
  call.addEventListener('step', () => stepEnded(mine));
  call.addEventListener('connected', () => connected(mine));
  call.addEventListener('lost', () => silent(mine));
  call.addEventListener('closed', ({ detail: error }) => callClosed(mine, error));
  call.events.addEventListener('entry', ({ detail: entry }) => eventLog.add(entry));
  conversation.begin(call.events);
  call.open();
}

function stepEnded({ call, presence }) {
  showTimeline(call.timeline.ends);
  if (call.timeline.ends.firstAudio > 0) {
    presence.soundBegan();
  }
}

function presenceChanged(mine) {
  showEmpty(mine.presence.state !== 'eventless');
  if (state === 'talking') {
    showTalking(mine);
  }
}

function connected(mine) {
  mine.since ||= performance.now();
  mine.heardAt = performance.now();
  stats = noStats;
  byId('sound').srcObject = mine.call.stream;
  mine.meters.agent?.close();
  mine.meters.agent = new Meter(mine.context, mine.call.stream);
  showTalking(mine);
}

function callClosed(mine, error) {
  if (error === null) {
    hangUp(true);
  } else if (mine.since > 0) {
    reconnect(mine, error);
  } else {
    fail(error);
  }
}

/* Each attempt has its slot of ATTEMPT_MS, the first begins at once. What a person hears when none
 * is left: why the server refused the last one, or that sound stopped. */
function reconnect(mine, error) {
  clearTimeout(mine.retry);
  const now = performance.now();
  if (mine.attempts === 0) {
    mine.lostAt = now;
    conversation.note(lostText);
  }
  const slotAt = mine.lostAt + mine.attempts * ATTEMPT_MS;
  if (mine.attempts === ATTEMPTS_MAX) {
    fail(error.code === 'no_path' ? new CallError('sound_stopped') : error);
    return;
  }
  mine.attempts++;
  show('reconnecting', { detail: reconnectText(mine.attempts, ATTEMPTS_MAX) });
  const attempt = mine.call?.isOpen && error.code !== 'no_path' ? repair : redial;
  mine.retry = setTimeout(() => attempt(mine), Math.max(0, slotAt - now));
}

/* The call that is there, by another path: the agent does not even notice. */
async function repair(mine) {
  const { call } = mine;
  mine.retry = setTimeout(() => reconnect(mine, new CallError('no_path')), ATTEMPT_MS);
  try {
    await call.restart();
  } catch (error) {
    if (mine.call !== call || !call.isOpen || state !== 'reconnecting') {
      return; // it was heard again, or ended, meanwhile
    }
    clearTimeout(mine.retry);
    if (error.code === 'server_silent') {
      reconnect(mine, error); // no network at all: the call may still live
    } else {
      redial(mine);
    }
  }
}

function redial(mine) {
  mine.call?.close();
  stats = noStats;
  showStats();
  dial(mine, ATTEMPT_MS);
  conversation.note(againText);
}

/* The silence of an agent is sound too: a server sends packets all the time. */
function watch(mine, packetsBefore) {
  if (stats.packetsReceived !== packetsBefore) {
    heard(mine);
  } else if (performance.now() - mine.heardAt > SILENT_MS_MAX) {
    silent(mine);
  }
}

function heard(mine) {
  const gapMs = performance.now() - mine.heardAt;
  mine.heardAt = performance.now();
  mine.attempts = 0;
  if (state === 'reconnecting') {
    clearTimeout(mine.retry);
    conversation.note(backText(gapMs));
    showTalking(mine);
  }
}

function silent(mine) {
  if (state === 'talking') {
    reconnect(mine, new CallError('sound_stopped'));
  }
}

async function tick(mine) {
  if (mine.since > 0) {
    byId('elapsed').textContent = clock(performance.now() - mine.since);
  }
  if (state === 'talking' && mine.presence.msLeft !== null) {
    showTalking(mine); // the seconds that are left
  }
  const { call } = mine;
  if (!call?.isOpen) {
    return;
  }
  const fresh = await readStats(call.connection).catch(() => null);
  if (fresh === null || session !== mine || mine.call !== call) {
    return;
  }
  const packetsBefore = stats.packetsReceived;
  stats = fresh;
  showStats();
  watch(mine, packetsBefore);
}

function animate(mine) {
  if (session !== mine) {
    return;
  }
  const now = performance.now();
  const agentLevel = mine.meters.agent?.level ?? 0;
  conversation.tick();
  mine.presence?.hear(agentLevel);
  waveforms.you.push(mine.meters.you.level, now);
  waveforms.agent.push(agentLevel, now);
  byId('talk').style.setProperty('--level', agentLevel.toFixed(2));
  requestAnimationFrame(() => animate(mine));
}

function endSession() {
  const mine = session;
  session = null;
  clearInterval(mine.ticker);
  clearTimeout(mine.patience);
  clearTimeout(mine.retry);
  conversation.end();
  mine.presence?.end();
  mine.call?.close();
  if (mine.microphone) {
    closeMicrophone(mine.microphone);
  }
  mine.context?.close();
  byId('sound').srcObject = null;
  byId('talk').style.removeProperty('--level');
  waveforms.you.clear();
  waveforms.agent.clear();
  return mine;
}

function hangUp(byServer = false) {
  const { since } = endSession();
  if (since > 0) {
    const elapsedMs = performance.now() - since;
    byId('elapsed').textContent = clock(elapsedMs);
    show('ended', { detail: endedText(elapsedMs, byServer) });
  } else {
    show('idle');
  }
}

function fail(error) {
  if (session) {
    endSession();
  }
  show('failed', failureText(error));
}

/* Start */

function whyNoCalls() {
  if (!window.isSecureContext) {
    return new CallError('insecure_page');
  }
  const canCall = window.RTCPeerConnection && window.AudioContext && navigator.mediaDevices;
  return canCall ? null : new CallError('browser_too_old');
}

showEmpty(true);
byId('server').textContent = location.host;
byId('talk').addEventListener('click', () => (session ? hangUp() : talk()));
addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && session) {
    hangUp();
  }
});
addEventListener('pagehide', () => session && hangUp());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  waveforms.you.draw(0);
  waveforms.agent.draw(0);
});

const obstacle = whyNoCalls();
if (obstacle) {
  show('failed', { ...failureText(obstacle), button: states.idle.button });
  byId('talk').disabled = true;
}

/*
 * For tests, read only. state: as above. stats: packetsReceived, packetsLost, rtt and jitter in ms
 * (null = unknown), path. timeline: ms from the call's start to the end of request, ice, dtls,
 * firstAudio. peakHz: the strongest frequency of the sound that comes back, 0 in silence.
 * turns: { who, text } of the bubbles, as they are seen. events: { atMs, isOurs, event }, the log.
 * isSpeaking: the agent's sound is being played, says the server.
 */
window.earshot = Object.freeze({
  get state() {
    return state;
  },
  get stats() {
    return stats;
  },
  get timeline() {
    return timeline;
  },
  get peakHz() {
    return session?.meters.agent?.peakHz ?? 0;
  },
  get turns() {
    return conversation.turns;
  },
  get events() {
    return eventLog.entries;
  },
  get isSpeaking() {
    return conversation.isSpeaking;
  },
  get message() {
    return `${byId('headline').textContent}. ${byId('detail').textContent}`;
  },
});
