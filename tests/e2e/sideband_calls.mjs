// sideband_calls.mjs - one call and two side-bands, of two packages; see sideband_wss_test.mjs
import { once } from 'node:events';

import { OpenAIRealtimeWebSocket } from '@openai/agents-realtime';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { WebSocket } from 'ws';

import { openChromium } from './chromium.mjs';
import { checkEvents } from './realtime_rules.mjs';
import {
  addTenant, baseUrl, hangUp, openSdkPage, SdkCall, secret, servePackages,
} from './sdk_kit.mjs';
import { apiKey, check, until } from './suite.mjs';

const sidebandUrl = (callId) => `${baseUrl.replace(/^http/, 'ws')}/realtime?call_id=${callId}`;
const ids = (events) => events.map(({ event_id: id }) => id);

// Both tell of the call's events, and do as a client does.
async function openWithOpenai(callId, key) {
  const client = new OpenAI({ apiKey: key, baseURL: baseUrl });
  const socket = new OpenAIRealtimeWS({ callID: callId }, client);
  const sideband = {
    events: [],
    errors: [],
    closed: 0,
    say: (event) => socket.send(event),
    close: () => socket.close(),
  };
  socket.on('event', (event) => sideband.events.push(event));
  socket.on('error', (error) => sideband.errors.push(error.message));
  socket.socket.on('close', (code) => { sideband.closed = code; });
  await until('the side-band of openai opens', () => sideband.events.length > 0);
  return sideband;
}

async function openWithAgents(callId, key) {
  const socket = new OpenAIRealtimeWebSocket();
  const sideband = {
    events: [],
    errors: [],
    say: (event) => socket.sendEvent(event),
    close: () => socket.close(),
  };
  socket.on('*', (event) => sideband.events.push(event));
  socket.on('error', (error) => sideband.errors.push(JSON.stringify(error)));
  await socket.connect({ apiKey: key, url: sidebandUrl(callId), callId,
    initialSessionConfig: { instructions: '#stub {"speak_ms":3000}' } });
  await until('the side-band of agents opens',
    () => sideband.events.some(({ type }) => type === 'session.updated'));
  return sideband;
}

const typed = (text) => ({ type: 'conversation.item.create', item: {
  type: 'message', role: 'user', content: [{ type: 'input_text', text }] } });

// Every event of the call from here on reaches both and the client, the same and in order.
async function checkAllHear(call, sidebands) {
  await call.look();
  const from = call.mark;
  const begins = sidebands.map(({ events }) => events.length);
  sidebands[0].say(typed('words from beside'));
  sidebands[0].say({ type: 'response.create' });
  await call.wait('conversation.item.added', ({ item }) =>
    item.content?.[0]?.text === 'words from beside', from);
  await call.wait('output_audio_buffer.started', undefined, from);
  await call.waitForSound();
  await call.wait('response.done', undefined, from);
  await call.wait('output_audio_buffer.stopped', undefined, from);
  const told = ids(call.events.slice(from).map(({ event }) => event));
  for (const [i, { events }] of sidebands.entries()) {
    await until('the last event comes', () => ids(events).includes(told.at(-1)));
    const heard = ids(events.slice(begins[i])).slice(0, told.length);
    check(`side-band ${i + 1} hears what the client hears`, heard.join() === told.join(),
      { told: told.length, heard: heard.length });
  }
}

// Of the upgrade, if it is refused; else the code with which the socket is closed.
async function statusOf(url, key) {
  const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${key}` } });
  socket.on('error', () => {});
  const [what, response] = await Promise.race([
    once(socket, 'open').then(() => ['open']),
    once(socket, 'unexpected-response').then(([, answer]) => ['refused', answer]),
  ]);
  if (what === 'refused') return response.statusCode;
  const [code] = await once(socket, 'close');
  return code;
}

async function checkRefusals(callId, key) {
  const other = await addTenant('other');
  check('no key is no entry', await statusOf(sidebandUrl(callId), 'sk-nobody') === 401);
  check('no such call', await statusOf(sidebandUrl('rtc_no_such_call'), key) === 404);
  check('another tenant finds no call',
    [404, 1008].includes(await statusOf(sidebandUrl(callId), other)));
}

const packages = await servePackages();
const browser = await openChromium();
const evaluate = await openSdkPage(browser, packages);
const key = apiKey();
const call = new SdkCall(evaluate, 'call');
const { callId } = await call.openOpenai({
  key: await secret({ instructions: '#stub {"speak_ms":3000}' }),
});
await call.wait('session.created');
const first = await openWithOpenai(callId, key);
check('it begins with the session', first.events[0].type === 'session.created', first.events[0]);
const second = await openWithAgents(callId, key);
await checkAllHear(call, [first, second]);
await checkRefusals(callId, key);

const before = second.events.length;
second.close();
await checkAllHear(call, [first]);
check('closing one ends neither the call nor the other',
  first.closed === 0 && second.events.length === before);

check('it hangs up', (await hangUp(callId)).status === 200);
await until('the other one is closed', () => first.closed !== 0);
check('as it should be', first.closed === 1000, first.closed);
check('no side-band had an error', first.errors.length + second.errors.length === 0,
  [first.errors, second.errors]);
const faults = checkEvents(first.events);
check('its events are as they must be', faults.length === 0, faults.slice(0, 5));
await browser.close();
packages.close();
