// suite.mjs - the running earshot of one test: started, looked at, harmed, stopped
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
export const artefacts = process.env.EARSHOT_ARTEFACTS ?? join(root, 'build/e2e');
export const run = process.env.EARSHOT_RUN ?? join(artefacts, 'run');
export const pageUrl = process.env.EARSHOT_PAGE ?? 'http://127.0.0.1:8080/';

const adminPort = { relay: 7801, transceiver: 7802, signaling: 7803, 'inference-stub': 7804 };

// Not the synchronous way: the voice agent may live in this process.
async function dev(...args) {
  const child = spawn(join(root, 'dev'), args,
    { env: { ...process.env, EARSHOT_RUN: run }, stdio: ['ignore', 'ignore', 'inherit'] });
  const [status] = await once(child, 'exit');
  if (status !== 0) throw new Error(`./dev ${args.join(' ')}: status ${status}`);
}

// From the next start on config/local counts with these changes: { 'relay.yaml': [[what, with]] }.
export function useConfig(name, changes) {
  const config = join(artefacts, `config-${name}`);
  cpSync(join(root, 'config/local'), config, { recursive: true });
  for (const [file, replacements] of Object.entries(changes)) {
    let text = readFileSync(join(config, file), 'utf8');
    for (const [what, replacement] of replacements) {
      if (text.search(what) < 0) throw new Error(`${file} has no ${what}`);
      text = text.replace(what, replacement);
    }
    writeFileSync(join(config, file), text);
  }
  process.env.EARSHOT_CONFIG = config;
}

// From the next start on the transceiver dials this port; the stub stands beside it, unused.
export function useBackend(port) {
  useConfig(port, { 'transceiver.yaml': [[/^backend: \S+/m, `backend: 127.0.0.1:${port}`]] });
}

export function up(...options) {
  mkdirSync(artefacts, { recursive: true });
  return dev('up', '--detach', ...options);
}

// What ./dev key prints.
export const apiKey = () => readFileSync(join(run, 'api-key'), 'utf8').trim();

export function down() {
  return dev('down');
}

// One metric of one service: the sum of the samples whose labels contain every word.
export async function metric(service, name, ...words) {
  const text = await (await fetch(`http://127.0.0.1:${adminPort[service]}/metrics`)).text();
  let sum = 0;
  for (const line of text.split('\n')) {
    const match = /^(\w+)(\{.*\})? (\S+)/.exec(line);
    if (match && match[1] === name && words.every((word) => (match[2] ?? '').includes(word))) {
      sum += Number(match[3]);
    }
  }
  return sum;
}

export function pidOf(service) {
  return Number(readFileSync(join(run, `${service}.pid`), 'utf8'));
}

// A process that is no more, or will be no more than a line of ps: its sockets are free, once the
// last of its threads has ended.
function isGone(pid) {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')) &&
      readdirSync(`/proc/${pid}/task`).length === 1;
  } catch {
    return true;
  }
}

// kill -9; the result starts the same program with the same words and surroundings, but for
// changes of its environment, once it is gone.
export function kill(service) {
  const pid = pidOf(service);
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  const cwd = execFileSync('readlink', [`/proc/${pid}/cwd`], { encoding: 'utf8' }).trim();
  const env = Object.fromEntries(
    readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
  process.kill(pid, 'SIGKILL');
  return async (changes = {}) => {
    await until(`${service} is gone`, () => isGone(pid), 15000, 5);
    const log = openSync(join(run, 'earshot.log'), 'a');
    const stdio = ['ignore', log, log];
    const options = { cwd, env: { ...env, ...changes }, detached: true, stdio };
    const child = spawn(words[0], words.slice(1), options);
    child.unref();
    writeFileSync(join(run, `${service}.pid`), `${child.pid}\n`);
  };
}

export const killAndRestart = (service) => kill(service)();

// A microphone: 16-bit mono WAV, 48 kHz; sample(second) gives -1..1. Chromium plays it in a loop.
export function writeWav(file, seconds, sample) {
  const rate = 48000;
  const samples = rate * seconds;
  const wav = Buffer.alloc(44 + 2 * samples);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(36 + 2 * samples, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(rate, 24);
  wav.writeUInt32LE(2 * rate, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(2 * samples, 40);
  for (let i = 0; i < samples; i++) {
    wav.writeInt16LE(Math.round(32767 * sample(i / rate)), 44 + 2 * i);
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, wav);
  return file;
}

// A hum of whole periods, so that the loop has no click.
export const writeTone = (file, hz, seconds) =>
  writeWav(file, seconds, (second) => 0.27 * Math.sin(2 * Math.PI * hz * second));

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Polls until `ask` gives something true; fails with the last thing seen.
export async function until(what, ask, ms = 15000, lookMs = 50) {
  const end = Date.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await sleep(lookMs);
  }
}

export function check(claim, holds, seen) {
  const evidence = seen === undefined ? '' : `: ${JSON.stringify(seen)}`;
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${claim}${evidence}`);
  if (!holds) process.exitCode = 1;
}

const readLog = () => readFileSync(join(run, 'earshot.log'), 'utf8');

// Runs one test with the suite up; the log's tail is shown when it fails.
export async function withSuite(options, test) {
  await up(...options);
  try {
    await test();
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    if (process.exitCode) console.error(readLog().split('\n').slice(-60).join('\n'));
    await down();
  }
  const finding = /(ERROR: \w+Sanitizer|runtime error:).*/.exec(readLog());
  check('no sanitizer found anything', !finding, finding?.[0]);
  if (process.exitCode) process.exit(); // what a failed test left open would keep it alive
}
