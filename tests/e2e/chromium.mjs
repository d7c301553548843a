// chromium.mjs - Debian's Chromium with a humming microphone, driven by playwright-core
import { chromium } from 'playwright-core';

import { watchConnections } from './page.mjs';
import { artefacts, pageUrl, writeTone } from './suite.mjs';

const quiet = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-sync', '--disable-background-networking', '--disable-component-update',
  '--disable-dev-shm-usage'];

export async function openChromium(microphone = writeTone(`${artefacts}/tone-440.wav`, 440, 10)) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: [...quiet, '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream',
      `--use-file-for-fake-audio-capture=${microphone}`,
      '--autoplay-policy=no-user-gesture-required'],
  });
}

// What the page throws, and every red line of its console, from now on.
export function complaintsOf(page) {
  const complaints = [];
  const add = (text) => {
    complaints.push(text);
    console.error('page:', text);
  };
  page.on('pageerror', (error) => add(error.message));
  page.on('console', (message) => message.type() === 'error' && add(message.text()));
  return complaints;
}

// The page with a call in progress: what a person does, Talk and wait. The browser's echo canceller
// would take the echo for one. `prepare`: an expression for the page before it begins.
export async function openCall(browser, prepare = '') {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.complaints = complaintsOf(page);
  await page.goto(`${pageUrl}?echo=1`);
  await page.evaluate(watchConnections);
  await page.evaluate(prepare);
  await page.getByRole('button', { name: /talk/i }).click();
  await page.waitForFunction(() => window.earshot.state === 'talking', null, { timeout: 15000 });
  return page;
}
