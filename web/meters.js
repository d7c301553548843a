/* meters.js - what a sound looks like: its level over time, and its strongest frequency */

const COLUMN_MS = 45;
const COLUMNS_MAX = 400;
const COLUMN_PX = 3;
const PITCH_PX = 6;
const FLOOR_DB = -55;
const PEAK_FLOOR_DB = -75;
const CALM_MS = 250;
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

/* Taps a stream without playing it. */
export class Meter {
  #source;
  #level;
  #spectrum;
  #samples;
  #bins;

  constructor(context, stream) {
    this.#source = context.createMediaStreamSource(stream);
    this.#level = new AnalyserNode(context, { fftSize: 2048 });
    this.#spectrum = new AnalyserNode(context, { fftSize: 16384, smoothingTimeConstant: 0 });
    this.#samples = new Float32Array(this.#level.fftSize);
    this.#bins = new Float32Array(this.#spectrum.frequencyBinCount);
    this.#source.connect(this.#level);
    this.#source.connect(this.#spectrum);
  }

  close() {
    this.#source.disconnect();
  }

  /* 0 (silence) to 1 (full scale), in decibels between: as loud as it sounds. */
  get level() {
    this.#level.getFloatTimeDomainData(this.#samples);
    let sum = 0;
    for (const sample of this.#samples) {
      sum += sample * sample;
    }
    const db = 10 * Math.log10(sum / this.#samples.length + 1e-12);
    return Math.min(1, Math.max(0, 1 - db / FLOOR_DB));
  }

  /* The strongest frequency, between two bins by their height; 0 in silence. */
  get peakHz() {
    this.#spectrum.getFloatFrequencyData(this.#bins);
    let top = 1;
    for (let i = 1; i < this.#bins.length - 1; i++) {
      if (this.#bins[i] > this.#bins[top]) {
        top = i;
      }
    }
    const [before, peak, after] = this.#bins.subarray(top - 1, top + 2);
    if (!(peak > PEAK_FLOOR_DB)) {
      return 0;
    }
    const offset = (before - after) / (2 * (before - 2 * peak + after)) || 0;
    return ((top + offset) * this.#level.context.sampleRate) / this.#spectrum.fftSize;
  }
}

/* Columns of level that wander away from the button: yours arrive at it, the agent's leave it. */
export class Waveform {
  #canvas;
  #towardsLeft;
  #levels = [];
  #columnStartedAt = 0;

  constructor(canvas, towardsLeft) {
    this.#canvas = canvas;
    this.#towardsLeft = towardsLeft;
    new ResizeObserver(() => this.draw(0)).observe(canvas);
  }

  push(level, nowMs) {
    if (reducedMotion.matches) {
      this.#pushCalmly(level, nowMs);
      return;
    }
    if (nowMs - this.#columnStartedAt >= COLUMN_MS) {
      this.#levels.unshift(level);
      this.#levels.length = Math.min(this.#levels.length, COLUMNS_MAX);
      this.#columnStartedAt = nowMs;
    } else {
      this.#levels[0] = Math.max(this.#levels[0] ?? 0, level);
    }
    this.draw((nowMs - this.#columnStartedAt) / COLUMN_MS);
  }

  /* Nothing wanders: one level for all columns, a few times a second. */
  #pushCalmly(level, nowMs) {
    if (nowMs - this.#columnStartedAt >= CALM_MS) {
      this.#levels = new Array(COLUMNS_MAX).fill(level);
      this.#columnStartedAt = nowMs;
      this.draw(0);
    }
  }

  clear() {
    this.#levels = [];
    this.draw(0);
  }

  draw(fraction) {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const scale = devicePixelRatio;
    this.#canvas.width = Math.round(width * scale);
    this.#canvas.height = Math.round(height * scale);
    const pen = this.#canvas.getContext('2d');
    pen.scale(scale, scale);
    pen.fillStyle = getComputedStyle(this.#canvas).color;
    const count = Math.ceil(width / PITCH_PX) + 1;
    for (let i = 0; i < count; i++) {
      const level = this.#levels[i] ?? 0;
      const barHeight = Math.max(COLUMN_PX, level * height);
      const away = (i + fraction) * PITCH_PX;
      const x = this.#towardsLeft ? width - COLUMN_PX - away : away;
      pen.globalAlpha = (level > 0.02 ? 1 : 0.4) * Math.max(0, 1 - away / width);
      pen.beginPath();
      pen.roundRect(x, (height - barHeight) / 2, COLUMN_PX, barHeight, COLUMN_PX / 2);
      pen.fill();
    }
  }
}
