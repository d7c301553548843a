/* texts.js - every sentence of the page that can change */

export const states = {
  idle: {
    headline: 'Talk to the agent',
    detail: 'Press Talk and start speaking. You can interrupt at any time.',
    button: 'Talk',
  },
  microphone: {
    headline: 'May we listen?',
    detail: 'Your browser asks for the microphone. Choose Allow.',
    button: 'Cancel',
  },
  connecting: {
    headline: 'Connecting',
    detail: 'This takes a fraction of a second.',
    button: 'Cancel',
  },
  talking: {
    headline: 'Go ahead, speak',
    detail: 'The agent listens, and stops when you interrupt.',
    button: 'Hang up',
  },
  reconnecting: {
    headline: 'Reconnecting',
    detail: 'The sound stopped.',
    button: 'Hang up',
  },
  ended: {
    headline: 'Call ended',
    detail: '',
    button: 'Talk again',
  },
  failed: {
    headline: 'That did not work',
    detail: '',
    button: 'Try again',
  },
};

const EXPIRING_STEP_S = 10;

/* While talking, by the state of a Presence: what differs from the above. */
const presences = {
  here: {},
  eventless: { detail: 'This agent has no events: it only speaks.' },
  away: {
    headline: 'The agent is away, one moment',
    detail: 'The call waits for it to come back.',
  },
};

export function talkingText({ state, msLeft }) {
  if (msLeft === null || state === 'away') {
    return presences[state];
  }
  const seconds = EXPIRING_STEP_S * Math.ceil(msLeft / 1000 / EXPIRING_STEP_S);
  return { detail: `This call ends in ${seconds} s.` };
}

/* What stands where nothing was said, and in the line to type into. */
const emptyTexts = {
  true: {
    turns: 'What is said appears here.',
    events: 'No event.',
    typed: 'Type to the agent',
  },
  false: {
    turns: 'This agent has no events: what it says is not written down.',
    events: 'This agent has no events: it only speaks.',
    typed: 'It takes no text',
  },
};

export const emptyText = (hasEvents) => emptyTexts[hasEvents];

export const slowText = 'It takes longer than usual, and is still being tried.';

/* By the code of a CallError. A server's own words stand in the detail, if it sent some: but not
 * where they are for operators. */
const failures = {
  insecure_page: {
    headline: 'This page must be opened over https',
    detail: 'Browsers give the microphone only to https pages and to localhost.',
  },
  browser_too_old: {
    headline: 'This browser cannot make calls',
    detail: 'It has no WebRTC or no Web Audio. A current Chrome, Edge, Firefox or Safari has both.',
  },
  microphone_refused: {
    headline: 'The microphone is blocked',
    detail: 'Allow it for this page in the address bar, then try again.',
  },
  microphone_missing: {
    headline: 'No microphone found',
    detail: 'Connect one, then try again.',
  },
  microphone_busy: {
    headline: 'The microphone does not start',
    detail: 'Another program may be using it. Close that program, then try again.',
  },
  microphone_lost: {
    headline: 'The microphone is gone',
    detail: 'It was disconnected, so the call was ended.',
  },
  server_silent: {
    headline: 'The server does not answer',
    detail: 'Check that it is running and that you are online, then try again.',
  },
  answer_unusable: {
    headline: 'The server’s answer cannot be used',
    detail: 'Browser and server found no common way to talk.',
  },
  no_path: {
    headline: 'No path for the sound',
    detail:
      'The server was reached, but no audio gets through. A firewall or VPN may block UDP: ' +
      'try another network.',
  },
  sound_stopped: {
    headline: 'The connection was lost',
    detail: 'No sound came through, and calling again did not help.',
  },
  backend_unavailable: {
    headline: 'The agent is away',
    detail: 'Its backend does not answer right now. Try again in a moment.',
  },
  server_overloaded: {
    headline: 'All lines are busy',
    detail: 'Try again in a moment.',
    isForOperators: true,
  },
  invalid_api_key: {
    headline: 'The server wants a key',
    detail: 'It gives none to this page: set demo to true in its configuration.',
    isForOperators: true,
  },
  rate_limit_exceeded: {
    headline: 'Too many calls',
    detail: 'Wait a little, then try again.',
  },
  refused: {
    headline: 'The server refused the call',
    detail: 'It did not say why.',
  },
};

export function failureText({ code, message }) {
  const { headline, detail, isForOperators = false } = failures[code] ?? failures.refused;
  return { headline, detail: isForOperators ? detail : message || detail };
}

export function reconnectText(attempt, attemptsMax) {
  return `The sound stopped: another path is tried. Attempt ${attempt} of ${attemptsMax}.`;
}

export const lostText = 'The sound stopped: looking for another path.';
export const againText = 'Calling again.';

export function backText(ms) {
  return `Sound is back after ${(ms / 1000).toFixed(1)} s.`;
}

export function endedText(elapsedMs, byServer) {
  const time = clock(elapsedMs);
  return byServer
    ? `The agent ended it or was lost after ${time}. Call again to go on.`
    : `You talked for ${time}.`;
}

export function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
