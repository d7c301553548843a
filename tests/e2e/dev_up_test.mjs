// dev_up_test.mjs - ./dev up as a newcomer meets it: starts fast, and says what is wrong in one line
import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { check, root, sleep } from './suite.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'earshot-dev-'));
const surroundings = { ...process.env, EARSHOT_PRESET: 'release', EARSHOT_RUN: join(scratch, 'run') };

function dev(args, extra = {}) {
  const started = Date.now();
  const child = spawnSync(join(root, 'dev'), args, { env: { ...surroundings, ...extra }, encoding: 'utf8', cwd: '/' });
  return { status: child.status, stderr: child.stderr.trim(), stdout: child.stdout, ms: Date.now() - started };
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

// Start, start again, stop.
const first = dev(['up', '--detach']);
check('the first start works', first.status === 0, first.stderr || first.ms);
const again = dev(['up', '--detach']);
check('a second one beside it is refused', again.status === 1 && again.stderr.includes('./dev down'), again.stderr);
check('down ends well', dev(['down']).status === 0);
check('down leaves nothing', servicesLeft().length === 0);
const second = dev(['up', '--detach']);
check('a second start takes less than 3 s', second.status === 0 && second.ms < 3000, second.ms);
dev(['down']);

// A port in use, of each kind.
const tcp = createServer().listen(8080, '127.0.0.1');
await sleep(100);
refusal('HTTP port in use', dev(['up', '--detach']), '127.0.0.1:8080', 'in use');
tcp.close();
const udp = createSocket('udp4');
await new Promise((resolve) => udp.bind(3478, '127.0.0.1', resolve));
refusal('media port in use', dev(['up', '--detach', '--address', '127.0.0.1']), '127.0.0.1:3478', 'in use');
udp.close();

// A configuration that is wrong.
const broken = join(scratch, 'config');
cpSync(join(root, 'config/local'), broken, { recursive: true });
const yaml = readFileSync(join(broken, 'relay.yaml'), 'utf8');
writeFileSync(join(broken, 'relay.yaml'), yaml.replace('flows: 65536', 'flows: many'));
refusal('a wrong value', dev(['up', '--detach'], { EARSHOT_CONFIG: broken }), 'relay.yaml:', 'flows');
writeFileSync(join(broken, 'relay.yaml'), `${yaml}\nflowz: 1\n`);
refusal('an unknown key', dev(['up', '--detach'], { EARSHOT_CONFIG: broken }), 'relay.yaml:', 'flowz');
writeFileSync(join(broken, 'relay.yaml'), `${yaml}\n  - : [`);
refusal('broken YAML', dev(['up', '--detach'], { EARSHOT_CONFIG: broken }), 'relay.yaml:');

// A package that can not be had: dpkg-query and apt-get of a machine without network.
const bin = join(scratch, 'bin');
mkdirSync(bin);
writeFileSync(join(bin, 'dpkg-query'), '#!/bin/sh\ncase "$*" in *ninja-build) exit 1 ;; esac\nexec /usr/bin/dpkg-query "$@"\n');
writeFileSync(join(bin, 'apt-get'), '#!/bin/sh\necho "E: Unable to fetch some archives" >&2\nexit 100\n');
chmodSync(join(bin, 'dpkg-query'), 0o755);
chmodSync(join(bin, 'apt-get'), 0o755);
const missing = dev(['up', '--detach'], { PATH: `${bin}:${process.env.PATH}` });
check('a missing package: exit 1', missing.status === 1);
check('a missing package: named', missing.stderr.includes('ninja-build'), missing.stderr);

// Words that mean nothing.
for (const words of [['up', '--mode', 'opera'], ['up', '--colour'], ['fly'], ['up', '--mode']]) {
  const result = dev(words);
  check(`./dev ${words.join(' ')} is refused in one line`, result.status === 1 && result.stderr.split('\n').length === 1, result.stderr);
}
rmSync(scratch, { recursive: true, force: true });
