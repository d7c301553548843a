// page_kit.mjs - the demo page alone: a second tab is the far end, no service runs
import { complaintsOf, openChromium } from './chromium.mjs';
import { FarEnd } from './far_end.mjs';
import { check } from './suite.mjs';

export const browser = await openChromium();

// Each test has a page, a far end and what the page complained of, all its own.
export async function test(name, options, body) {
  const farEnd = await new FarEnd().open();
  const context = await browser.newContext({ permissions: ['microphone'] });
  try {
    console.log(name);
    farEnd.tab = await context.newPage();
    await farEnd.tab.goto(`${farEnd.url}icon.svg`);
    const page = await context.newPage();
    const complaints = complaintsOf(page);
    if (options.before) await page.addInitScript(options.before);
    await page.goto(`${farEnd.url}${options.query ?? ''}`);
    await body(page, farEnd, complaints);
  } catch (error) {
    check(name, false, error.message);
  } finally {
    await context.close();
    farEnd.close();
  }
}

export const talk = (page) => page.locator('#talk').click();
export const state = (page) => page.evaluate(() => window.earshot.state);
export const message = (page) => page.evaluate(() => window.earshot.message);
export const waitForState = (page, wanted, timeout = 15000) =>
  page.waitForFunction((name) => window.earshot.state === name, wanted, { timeout, polling: 20 });

// Presses Talk and waits for sound.
export async function call(page) {
  await talk(page);
  await page.waitForFunction(() => window.earshot.timeline.firstAudio > 0 &&
    window.earshot.stats.packetsReceived > 10);
}

// The sound of the first call stops.
export const silence = (farEnd) =>
  farEnd.tab.evaluate(() => window.calls[0].getSenders()[0].replaceTrack(null));
