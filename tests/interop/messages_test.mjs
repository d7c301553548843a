// messages_test.mjs - messages up to their own limit, both ways, with GStreamer, aiortc and Pion
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Agent } from '../e2e/agent.mjs';
import { apiKey, artefacts, check, useBackend, withSuite } from '../e2e/suite.mjs';

const folder = join(dirname(fileURLToPath(import.meta.url)), 'messages');
const agentPort = 7298;
const url = 'http://10.77.0.1:8080/v1/realtime/calls';
// aiortc says 65,536 in its offer; GStreamer and Pion say nothing, which means as much (RFC 8841
// s.6.1). Yet Pion 3.1 reads into a buffer that is one byte shorter, and GStreamer 1.22 closes a
// channel that should send an empty message.
const largest = 65536;
const skip = 77;

// Debian installs Pion for GOPATH mode, and Go resolves the "/v3" of an import there only for a
// package that lies in a GOPATH and has a go.mod.
function buildPion() {
  const build = join(artefacts, 'pion');
  const source = join(build, 'src/client');
  mkdirSync(source, { recursive: true });
  copyFileSync(join(folder, 'pion_client.go'), join(source, 'main.go'));
  writeFileSync(join(source, 'go.mod'), 'module client\n');
  const client = join(build, 'client');
  const env = { ...process.env, GO111MODULE: 'off', GOFLAGS: '', GOCACHE: join(build, 'cache'),
    GOPATH: `${build}:/usr/share/gocode` };
  execFileSync('go', ['build', '-o', client, '.'], { cwd: source, env, stdio: 'inherit' });
  return client;
}

const clients = [
  { name: 'aiortc', packages: ['python3-aiortc'], sizes: [0, 1, 1200, largest],
    words: () => ['/usr/bin/python3', '-B', join(folder, 'aiortc_client.py')] },
  { name: 'GStreamer', packages: ['python3-gi', 'python3-gst-1.0', 'gir1.2-gst-plugins-bad-1.0',
    'gstreamer1.0-plugins-good', 'gstreamer1.0-plugins-bad', 'gstreamer1.0-nice'],
  sizes: [1, 1200, largest],
    words: () => ['/usr/bin/python3', '-B', join(folder, 'gstreamer_client.py')] },
  { name: 'Pion', packages: ['golang-go', 'golang-github-pion-webrtc.v3-dev'],
    sizes: [0, 1, 1200, largest - 1],
    words: () => [buildPion()] },
];

const isInstalled = (name) => spawnSync('dpkg-query', ['-W', '-f', '${db:Status-Status}', name],
  { encoding: 'utf8' }).stdout === 'installed';

function tryClient({ name, words, sizes }) {
  const [program, ...rest] = [...words, url, ...sizes.map(String)];
  const env = { ...process.env, API_KEY: apiKey() };
  return new Promise((done) => {
    const child = spawn(program, rest, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.on('data', (data) => { out += data; });
    child.on('close', () => done(JSON.parse(out.trim().split('\n').at(-1) || '{}')));
  }).then((seen) => {
    for (const kind of ['text', 'binary']) {
      check(`${name}: ${kind} messages of ${sizes} bytes come back as they went`,
        `${seen[kind]}` === `${sizes}` && !seen.error, seen);
    }
  });
}

const ready = clients.filter(({ name, packages }) => {
  const missing = packages.filter((one) => !isInstalled(one));
  if (missing.length > 0) console.log(`messages: SKIP ${name}: without ${missing.join(' ')}`);
  return missing.length === 0;
});
if (ready.length === 0) process.exit(skip);

// Built before the agent lives: a build of seconds would hold up its pings.
const programs = ready.map((client) => ({ ...client, words: client.words() }));
const agent = new Agent();
agent.echoes = true;
await agent.listen(agentPort);
useBackend(agentPort);
await withSuite(['--address', '10.77.0.1'], async () => {
  for (const client of programs) await tryClient(client);
});
agent.close();
// A client that was left out must not look like one that passed.
if (ready.length < clients.length && !process.exitCode) process.exitCode = skip;
