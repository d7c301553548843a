/*
 * access.js - the key of this page: a secret of some minutes, which its own server gives to it
 *
 * A server without it (404, 405) takes calls without a key, or says so when it does not.
 */

import { CallError } from './call_error.js';

const SECRET_PATH = '/demo/secret';
const SECRET_MS_MAX = 5000;
const RENEW_BEFORE_S = 60;

let asked = null; // a promise of { value, expires_at }, or of null

const isFresh = (secret) =>
  secret !== null && secret.expires_at - Date.now() / 1000 > RENEW_BEFORE_S;

/* { Authorization } for every request of a call, or {}. Throws a CallError. */
export async function authorization() {
  const known = await asked?.catch(() => null);
  if (!isFresh(known ?? null)) {
    asked = askForSecret();
  }
  const secret = await asked;
  return secret === null ? {} : { Authorization: `Bearer ${secret.value}` };
}

/* The next call asks for another one. */
export function forgetSecret() {
  asked = null;
}

async function askForSecret() {
  const signal = AbortSignal.timeout(SECRET_MS_MAX);
  const response = await fetch(SECRET_PATH, { method: 'POST', signal }).catch(() => {
    throw new CallError('server_silent');
  });
  if (response.status === 404 || response.status === 405) {
    return null;
  }
  if (!response.ok) {
    throw await CallError.of(response);
  }
  const body = await response.json().catch(() => null);
  return typeof body?.value === 'string' ? body : null;
}
