// chromium.mjs - Debian's Chromium with a humming microphone, driven by playwright-core
import { chromium } from 'playwright-core';

import { watchConnections } from './page.mjs';
import { artefacts, pageUrl, writeTone } from './suite.mjs';

const quiet = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
  '--disable-background-networking', '--disable-component-update', '--disable-dev-shm-usage'];

export async function openChromium(microphone = writeTone(`${artefacts}/tone-440.wav`, 440, 10)) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: [...quiet, '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream',
      `--use-file-for-fake-audio-capture=${microphone}`, '--autoplay-policy=no-user-gesture-required'],
  });
}

// The page with a call in progress: what a person does, Talk and wait. The browser's echo canceller
// would take the echo for one.
export async function openCall(browser) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.on('console', (message) => message.type() === 'error' && console.error('page:', message.text()));
  page.on('pageerror', (error) => console.error('page:', error.message));
  await page.goto(`${pageUrl}?echo=1`);
  await page.evaluate(watchConnections);
  await page.getByRole('button', { name: /talk/i }).click();
  await page.waitForFunction(() => window.earshot.state === 'talking', null, { timeout: 15000 });
  return page;
}
