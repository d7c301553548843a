// sdk_kit.mjs - a browser's page with the npm packages of OpenAI, of another origin than the server
import { execFile } from 'node:child_process';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { apiKey, artefacts, root, run, until, writeWav } from './suite.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const programs = join(root, 'build', process.env.EARSHOT_PRESET ?? 'release', 'bin');
const types = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript' };
const page = '<!doctype html><meta charset="utf-8"><title>sdk</title>' +
  '<script type="module" src="/sdk_page.mjs"></script>';
const lateMs = 40; // between two looks at the sound; more is a machine that was busy
const loudRms = 0.01;

export const baseUrl = process.env.EARSHOT_BASE_URL ?? 'http://127.0.0.1:8080/v1';

// Another tenant's key, from now on.
export async function addTenant(name) {
  const { stdout } = await promisify(execFile)(join(programs, 'earshotctl'),
    ['api-keys', 'add', join(run, 'keys/api/keys'), name]);
  const key = stdout.trim();
  await until('the key is known', async () =>
    (await ask('POST', '/realtime/client_secrets', { key, body: '' })).status === 200);
  return key;
}

// A request of a server, not of a browser.
export async function ask(method, path, { key = apiKey(), body, headers = {} } = {}) {
  const response = await fetch(baseUrl + path, {
    method, body, headers: { ...(key ? { Authorization: `Bearer ${key}` } : {}), ...headers },
  });
  const text = await response.text();
  let json = null;
  try {
    json = JSON.parse(text);
  } catch { /* an SDP */ }
  return { status: response.status, headers: response.headers, text, json };
}

export async function secret(session = {}, seconds = 600, key = apiKey()) {
  const { status, json, text } = await ask('POST', '/realtime/client_secrets', {
    key,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      session: { type: 'realtime', model: 'gpt-realtime', ...session },
      expires_after: { anchor: 'created_at', seconds },
    }),
  });
  if (status !== 200) throw new Error(`client_secrets: ${status} ${text}`);
  return json.value;
}

export const hangUp = (callId) => ask('POST', `/realtime/calls/${callId}/hangup`, { body: '' });

// The page and, as they are, the packages.
export async function servePackages() {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, 'http://x').pathname);
    if (path === '/') {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(page);
      return;
    }
    const isPackage = /^\/packages\/(openai|@openai)\//.test(path);
    const file = isPackage ? join(here, 'node_modules', path.slice('/packages/'.length))
      : join(here, 'sdk_page.mjs');
    const isKnown = isPackage || path === '/sdk_page.mjs';
    if (!isKnown || !existsSync(file) || statSync(file).isDirectory()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'text/plain' });
    createReadStream(file).pipe(response);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

// How to run an expression in a page of Chromium with the packages.
export async function openSdkPage(browser, packages) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(packages.url);
  await page.waitForFunction(() => window.sdk);
  return (expression) => page.evaluate(expression);
}

// A sentence for the microphone, without its pauses: a browser plays it over and over, and a test
// opens and closes the microphone.
export async function writeSpeech() {
  const { stdout } = await promisify(execFile)('espeak-ng', ['-v', 'en-us', '-s', '190', '-g', '0',
    '--stdout', 'tell me what the weather in Oslo will be tomorrow morning, and whether I should ' +
    'carry an umbrella when I walk along the harbour'], { encoding: 'buffer', maxBuffer: 1 << 24 });
  const begin = stdout.indexOf('data') + 8;
  const rate = stdout.readUInt32LE(24);
  const spoken = [];
  let quiet = 0;
  for (let at = begin; at + 2 <= stdout.length; at += 2) {
    const sample = stdout.readInt16LE(at) / 32768;
    quiet = Math.abs(sample) < 0.02 ? quiet + 1 : 0;
    if (quiet < rate * 0.05) spoken.push(sample);
  }
  const loudest = spoken.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  const seconds = Math.floor(spoken.length / rate);
  return writeWav(`${artefacts}/speech.wav`, seconds,
    (second) => 0.7 * spoken[Math.floor(second * rate)] / loudest);
}

// One call of window.sdk, followed from here. `evaluate` runs an expression in the page and waits
// for its promise.
export class SdkCall {
  events = [];
  levels = [];

  constructor(evaluate, name) {
    this.evaluate = evaluate;
    this.name = name;
  }

  do(what, ...words) {
    const list = [this.name, ...words].map((word) => JSON.stringify(word)).join();
    return this.evaluate(`Promise.resolve(window.sdk.${what}(${list}))`);
  }

  openAgents(options) {
    return this.do('openAgents', { url: baseUrl, ...options });
  }

  openOpenai(options) {
    return this.do('openOpenai', { url: baseUrl, ...options });
  }

  // One at a time: two would take the same news.
  look() {
    this.looking ??= this.#takeNews().finally(() => { this.looking = null; });
    return this.looking;
  }

  async #takeNews() {
    const counts = { events: this.events.length, levels: this.levels.length };
    const { events, levels, ...rest } = await this.do('news', counts);
    this.events.push(...events);
    this.levels.push(...levels);
    Object.assign(this, rest);
    return this;
  }

  // Events from here on.
  get mark() {
    return this.events.length;
  }

  find(type, where = () => true, from = 0) {
    return this.events.slice(from).find(({ event }) => event.type === type && where(event));
  }

  async wait(type, where, from, ms = 10000) {
    return until(`${this.name}: ${type}`, async () => (await this.look()).find(type, where, from),
      ms);
  }

  // The share of looks from `from` to `to` in which there was sound.
  loudness(from, to) {
    const looks = this.levels.filter(({ ms }) => ms >= from && ms <= to);
    return looks.filter(({ rms }) => rms > loudRms).length / Math.max(1, looks.length);
  }

  async waitForSound(ms = 10000) {
    await until(`${this.name}: sound`, async () => {
      await this.look();
      return this.levels.length > 0 && this.loudness(this.now - 200, this.now) > 0.5;
    }, ms);
  }

  // How long sound goes on after `from`, less the time that a busy machine did not look.
  async goesOnMs(from) {
    await until(`${this.name}: silence`, async () => {
      await this.look();
      return this.now > from + 400 && this.loudness(this.now - 300, this.now) === 0;
    });
    const looks = this.levels.filter(({ ms }) => ms >= from);
    const lastLoud = looks.findLastIndex(({ rms }) => rms > loudRms);
    let late = 0;
    for (let i = 1; i <= lastLoud; i++) late += Math.max(0, looks[i].ms - looks[i - 1].ms - lateMs);
    return lastLoud < 0 ? 0 : Math.round(looks[lastLoud].ms - from - late);
  }
}
