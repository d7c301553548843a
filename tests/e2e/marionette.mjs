// marionette.mjs - Firefox's own remote protocol, as much of it as a test needs: `length:[json]`
// over TCP
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { sleep } from './suite.mjs';

const port = 2828;

const preferences = {
  'media.navigator.streams.fake': true, // a microphone that hums
  'media.navigator.audio.fake_frequency': 440,
  'media.navigator.permission.disabled': true,
  'media.autoplay.default': 0,
  'media.autoplay.blocking_policy': 0,
  'app.update.enabled': false,
  'app.normandy.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,#remote-settings-dummy/v1',
  'toolkit.telemetry.server': 'data:,',
};

async function connectWhenUp() {
  for (let tries = 0; tries < 400; tries++) {
    const socket = connect(port, '127.0.0.1');
    const isUp = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    if (isUp) return socket;
    await sleep(100);
  }
  throw new Error('Firefox did not open its remote port within 40 s');
}

export async function openFirefox() {
  const profile = mkdtempSync(join(tmpdir(), 'earshot-firefox-'));
  const lines = Object.entries(preferences)
    .map((pair) => `user_pref(${pair.map((word) => JSON.stringify(word)).join()});\n`);
  writeFileSync(join(profile, 'user.js'), lines.join(''));
  const program = process.env.FIREFOX ?? '/usr/bin/firefox-esr';
  const child = spawn(program, ['--headless', '--marionette', '--no-remote', '--profile', profile],
    { stdio: 'ignore', env: { ...process.env, HOME: profile, MOZ_CRASHREPORTER_DISABLE: '1' } });
  const socket = await connectWhenUp();
  const waiting = new Map();
  let buffer = Buffer.alloc(0);
  let nextId = 1;

  socket.on('data', (data) => {
    buffer = Buffer.concat([buffer, data]);
    for (;;) {
      const colon = buffer.indexOf(':');
      const length = Number(buffer.subarray(0, colon).toString());
      if (colon < 0 || buffer.length < colon + 1 + length) return;
      const message = JSON.parse(buffer.subarray(colon + 1, colon + 1 + length).toString());
      buffer = buffer.subarray(colon + 1 + length);
      if (!Array.isArray(message)) continue; // the greeting
      const [, id, error, result] = message;
      const { resolve, reject } = waiting.get(id);
      waiting.delete(id);
      if (error) reject(new Error(`Firefox: ${error.message}`));
      else resolve(result);
    }
  });

  function send(command, parameters = {}) {
    const text = JSON.stringify([0, nextId, command, parameters]);
    const answer = new Promise((resolve, reject) => waiting.set(nextId, { resolve, reject }));
    nextId++;
    socket.write(`${Buffer.byteLength(text)}:${text}`);
    return answer;
  }

  const valueOf = async (command, parameters) =>
    (await send(`WebDriver:${command}`, parameters)).value;

  await send('WebDriver:NewSession', { capabilities: { alwaysMatch: {} } });
  return {
    goto: (url) => send('WebDriver:Navigate', { url }),
    evaluate: (expression) =>
      valueOf('ExecuteScript', { script: `return ${expression};`, args: [] }),
    evaluateAsync: (expression) =>
      valueOf('ExecuteAsyncScript', { script: `(${expression}).then(arguments[0]);`, args: [] }),
    async screenshot(path) {
      writeFileSync(path, Buffer.from(await valueOf('TakeScreenshot', { full: false }), 'base64'));
    },
    async close() {
      await send('Marionette:Quit', { flags: ['eForceQuit'] }).catch(() => {});
      if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
