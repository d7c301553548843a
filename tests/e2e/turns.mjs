// turns.mjs - a conversation as sound: what a user says into an agent, and what was heard of both
import { check } from './suite.mjs';

const quietLevel = 1e-4; // mean square: -40 dB
const pauseSeconds = 0.4; // within one utterance
const lookSeconds = 0.04; // between two entries of a trace; more is a machine that was busy
const silenceMsMax = 400; // from the user's first sound to the agent's silence
const answerMsMax = 1500; // from the user's last sound to the first of the answer

// A voice-like hum: harmonics of 140 Hz that swell four times a second.
function hum(second) {
  let sum = 0;
  for (let harmonic = 1; harmonic <= 12; harmonic++) {
    sum += Math.sin(2 * Math.PI * 140 * harmonic * second) / harmonic;
  }
  return 0.25 * sum * (0.6 + 0.4 * Math.sin(2 * Math.PI * 4 * second));
}

// The sound of a microphone that hears these turns: sample(second).
export const speech = (turns) => (second) =>
  (turns.some(({ start, end }) => second >= start && second < end) ? hum(second) : 0);

// Stretches of sound of one voice of a trace (recordLevels): { start, end, energy }.
export function sounds(trace, voice) {
  const found = [];
  for (const [i, { second, [voice]: level }] of trace.entries()) {
    if (level < quietLevel) continue;
    if (second - (found.at(-1)?.end ?? -Infinity) > pauseSeconds) {
      found.push({ start: second, end: second, energy: 0 });
    }
    const last = found.at(-1);
    last.end = second;
    last.energy += level * (second - (trace[i - 1]?.second ?? second));
  }
  return found;
}

const ms = (seconds) => Math.round(1000 * seconds);

// How long nobody looked between two seconds of a trace: a busy machine holds up what it measures.
function lateSeconds(trace, from, to) {
  const looks = trace.filter(({ second }) => second >= from && second <= to);
  const pauses = looks.slice(1).map(({ second }, i) => second - looks[i].second);
  return pauses.reduce((sum, pause) => sum + Math.max(0, pause - lookSeconds), 0);
}

// The agent's sound that `turn` interrupts, and how long it goes on under it.
export function checkInterruption(name, turn, agent, trace) {
  const cut = agent.find(({ start, end }) => start < turn.start && end > turn.start);
  check(`${name}: the agent was speaking`, turn.start - (cut?.start ?? turn.start) > 0.5, cut);
  const end = cut?.end ?? Infinity;
  const goesOnMs = ms(end - turn.start - lateSeconds(trace, turn.start, end));
  check(`${name}: it falls silent within ${silenceMsMax} ms`, goesOnMs <= silenceMsMax, goesOnMs);
}

// The agent's first sound after `turn`: soon, as loud, and, if nobody interrupts it, as long.
export function checkAnswer(name, turn, agent, isWhole, trace) {
  const answer = agent.find(({ start }) => start > turn.end);
  const start = answer?.start ?? Infinity;
  const afterMs = ms(start - turn.end - lateSeconds(trace, turn.end, start));
  check(`${name}: it is said back within ${answerMsMax} ms`, afterMs <= answerMsMax, afterMs);
  if (!isWhole || !answer) return;
  const longer = (answer.end - answer.start) - (turn.end - turn.start);
  check(`${name}: what is said back is as long`, Math.abs(longer) < 0.5, ms(longer));
  const louder = answer.energy / turn.energy;
  check(`${name}: what is said back is as loud`, louder > 0.5 && louder < 2, louder);
}
