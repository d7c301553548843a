// dev_up_test.mjs - ./dev up as a newcomer meets it: fast, and one line for what is wrong
import { spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync,
  rmSync, statSync, writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { check, root, until } from './suite.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'earshot-dev-'));
const run = join(scratch, 'run');
const preset = process.env.EARSHOT_PRESET ?? 'release';
const surroundings = { ...process.env, EARSHOT_PRESET: preset, EARSHOT_RUN: run };

// Each start begins the log anew, so it is read after each word of ./dev.
function checkLog(file) {
  const finding = existsSync(file) &&
    /(ERROR: \w+Sanitizer|runtime error:).*/.exec(readFileSync(file, 'utf8'));
  if (finding) check('no sanitizer found anything', false, finding[0]);
}

function dev(args, extra = {}) {
  const started = Date.now();
  const env = { ...surroundings, ...extra };
  const child = spawnSync(join(root, 'dev'), args, { env, encoding: 'utf8', cwd: '/' });
  checkLog(join(env.EARSHOT_RUN, 'earshot.log'));
  const said = { stdout: child.stdout.trim(), stderr: child.stderr.trim() };
  return { status: child.status, ...said, ms: Date.now() - started };
}

function servicesLeft() {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/exe`).includes('/bin/earshot-');
    } catch {
      return false;
    }
  });
}

function refusal(what, result, ...words) {
  check(`${what}: exit 1`, result.status === 1, result.status);
  check(`${what}: one line that names it and the remedy`, result.stderr.split('\n').length === 1 &&
    words.every((word) => result.stderr.includes(word)), result.stderr);
  check(`${what}: nothing is left running`, servicesLeft().length === 0);
}

// What the API says to who brings this key: 200, or 401. By a program of its own, which keeps no
// connection to a server that is gone by the next time.
function tries(key) {
  const words = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '-X', 'POST', '-H',
    `Authorization: Bearer ${key}`, 'http://127.0.0.1:8080/v1/realtime/client_secrets'];
  return Number(spawnSync('curl', words, { encoding: 'utf8' }).stdout);
}

// Start, start again, stop.
check('before the first start there is no key', dev(['key']).status === 1);
const first = dev(['up', '--detach']);
check('the first start works', first.status === 0, first.stderr || first.ms);
const { stdout: key } = dev(['key']);
check('it has made a key, which is good', tries(key) === 200, key.length);
check('and no other is', tries(`${key}x`) === 401);
check('only its owner can read it', (statSync(join(run, 'api-key')).mode & 0o77) === 0);
check('what signaling reads does not hold it',
  !readFileSync(join(run, 'keys/api/keys'), 'utf8').includes(key));
const again = dev(['up', '--detach']);
check('a second one beside it is refused',
  again.status === 1 && again.stderr.includes('./dev down'), again.stderr);
check('down ends well', dev(['down']).status === 0);
check('down leaves nothing', servicesLeft().length === 0);

// What a newcomer runs, whatever preset is tested otherwise: built, and then soon there.
const release = { EARSHOT_PRESET: 'release' };
check('the release preset starts', dev(['up', '--detach'], release).status === 0);
check('a key outlives its start', dev(['key']).stdout === key && tries(key) === 200);
dev(['down']);
// The fastest of a few: what else the machine does is none of its business.
const starts = [];
while (starts.length < 5 && !(Math.min(...starts) < 3000)) {
  const second = dev(['up', '--detach'], release);
  starts.push(second.status === 0 ? second.ms : Infinity);
  dev(['down']);
}
check('a second start takes less than 3 s', Math.min(...starts) < 3000, starts);

// Over https, with a certificate of a CA that is made here.
const ca = join(run, 'tls/ca.crt');
const secured = dev(['up', '--tls', '--detach']);
check('--tls starts and says whom to trust', secured.status === 0 &&
  secured.stdout.includes('https://127.0.0.1:8443/') &&
  secured.stdout.includes(`NODE_EXTRA_CA_CERTS=${ca}`), secured.stdout || secured.stderr);
function reaches(name, ...words) {
  const health = ['-s', '-o', '/dev/null', '-w', '%{http_code}', `https://${name}:8443/healthz`];
  return spawnSync('curl', [...health, ...words], { encoding: 'utf8' }).stdout;
}
check('who trusts the CA reaches it by both names',
  ['127.0.0.1', 'localhost'].every((name) => reaches(name, '--cacert', ca) === '200'));
check('who does not gets nothing', reaches('127.0.0.1') === '000');
check('only the owner can read the keys', ['ca.key', 'server.key'].every((name) =>
  (statSync(join(run, 'tls', name)).mode & 0o77) === 0));
dev(['down']);
for (const port of ['80x', '0', '65536']) {
  refusal('a port that is none', dev(['up', '--port', port, '--detach']), `--port ${port}`);
}

// A port in use: of each service, TCP and UDP, public and internal.
const taken = [['signaling', 'tcp', 8080], ['relay', 'udp', 3478], ['relay', 'udp', 3503],
  ['relay', 'tcp', 7102], ['transceiver', 'udp', 4000], ['transceiver', 'tcp', 7001],
  ['transceiver', 'tcp', 7002],
  ['signaling', 'tcp', 7101], ['inference-stub', 'tcp', 7200], ['relay', 'tcp', 7801],
  ['transceiver', 'tcp', 7802], ['signaling', 'tcp', 7803], ['inference-stub', 'tcp', 7804]];
for (const [service, kind, port] of taken) {
  const holder = kind === 'tcp' ? createServer().listen(port, '127.0.0.1') : createSocket('udp4');
  if (kind === 'udp') holder.bind(port, '127.0.0.1');
  await once(holder, 'listening');
  refusal(`${kind} port ${port} in use`, dev(['up', '--detach', '--address', '127.0.0.1']),
    `earshot-${service}: `, `${port}`, 'in use');
  holder.close();
}

// Another earshot, of another checkout: its ports answer, but they are not ours.
check('the other one starts', dev(['up', '--detach']).status === 0);
const beside = dev(['up', '--detach'], { EARSHOT_RUN: join(scratch, 'other') });
check('one beside it is refused in one line', beside.status === 1 &&
  beside.stderr.split('\n').length === 1 && beside.stderr.includes('in use'), beside.stderr);
check('and leaves the other one alone', servicesLeft().length === 4, servicesLeft().length);
dev(['down']);

// In the foreground: a service that dies, ./dev down from elsewhere, and a terminal that closes.
async function foreground(harm) {
  const child = spawn(join(root, 'dev'), ['up'],
    { env: surroundings, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout.on('data', (data) => { text += data; });
  child.stderr.on('data', (data) => { text += data; });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  await until('it is up', () => text.includes('Ctrl-C'), 60000);
  await harm(child);
  const status = await ended;
  checkLog(join(run, 'earshot.log'));
  return { status, text };
}
const relayPid = () => Number(readFileSync(join(run, 'relay.pid'), 'utf8'));
const died = await foreground(() => process.kill(relayPid(), 'SIGKILL'));
check('a service that dies is named',
  died.status === 1 && died.text.includes('relay ended by itself'));
check('the others do not stay', servicesLeft().length === 0);
const downed = await foreground(() => dev(['down']));
check('down from elsewhere ends it well', downed.status === 0, downed.status);
const closed = await foreground((child) => {
  child.stdout.destroy();
  child.stderr.destroy();
  child.kill('SIGHUP');
});
check('a closed terminal leaves nothing running', servicesLeft().length === 0, closed.status);
const interrupted = await foreground((child) => child.kill('SIGINT'));
check('Ctrl-C stops everything', interrupted.status === 0 && servicesLeft().length === 0);

// A configuration that is wrong.
const broken = join(scratch, 'config');
const withBroken = () => dev(['up', '--detach'], { EARSHOT_CONFIG: broken });
cpSync(join(root, 'config/local'), broken, { recursive: true });
const yaml = readFileSync(join(broken, 'relay.yaml'), 'utf8');
writeFileSync(join(broken, 'relay.yaml'), yaml.replace('flows: 65536', 'flows: many'));
refusal('a wrong value', withBroken(), 'relay.yaml:', 'flows');
writeFileSync(join(broken, 'relay.yaml'), `${yaml}\nflowz: 1\n`);
refusal('an unknown key', withBroken(), 'relay.yaml:', 'flowz');
writeFileSync(join(broken, 'relay.yaml'), `${yaml}\n  - : [`);
refusal('broken YAML', withBroken(), 'relay.yaml:');

// A package that can not be had: dpkg-query and apt-get of a machine without network.
const bin = join(scratch, 'bin');
mkdirSync(bin);
writeFileSync(join(bin, 'dpkg-query'),
  '#!/bin/sh\ncase "$*" in *ninja-build) exit 1 ;; esac\nexec /usr/bin/dpkg-query "$@"\n');
writeFileSync(join(bin, 'apt-get'),
  '#!/bin/sh\necho "E: Unable to fetch some archives" >&2\nexit 100\n');
chmodSync(join(bin, 'dpkg-query'), 0o755);
chmodSync(join(bin, 'apt-get'), 0o755);
const missing = dev(['up', '--detach'], { PATH: `${bin}:${process.env.PATH}` });
check('a missing package: exit 1', missing.status === 1);
check('a missing package: named', missing.stderr.includes('ninja-build'), missing.stderr);

// Words that mean nothing.
for (const words of [['up', '--mode', 'opera'], ['up', '--colour'], ['fly'], ['up', '--mode'],
  ['up', '--address', 'here'], ['up', '--address', '192.0.2.99'], ['down', 'now']]) {
  const result = dev(words);
  check(`./dev ${words.join(' ')} is refused in one line`,
    result.status === 1 && result.stderr.split('\n').length === 1, result.stderr);
}
rmSync(scratch, { recursive: true, force: true });
