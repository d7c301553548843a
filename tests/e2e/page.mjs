// page.mjs - expressions for a browser's page: its connection as the browser itself sees it

// Before Talk is pressed: keeps every connection that the page makes.
export const watchConnections = `(() => {
  const Real = window.RTCPeerConnection;
  window.connections = [];
  window.RTCPeerConnection = class extends Real {
    constructor(...words) { super(...words); window.connections.push(this); }
  };
})()`;

// After watchConnections: each offer of the page names this codec alone.
export const preferCodec = (mimeType) => `(() => {
  const Watched = window.RTCPeerConnection;
  window.RTCPeerConnection = class extends Watched {
    createOffer(...words) {
      const { codecs } = RTCRtpReceiver.getCapabilities('audio');
      const wanted = codecs.filter((codec) => codec.mimeType === '${mimeType}');
      this.getTransceivers().forEach((transceiver) => transceiver.setCodecPreferences(wanted));
      return super.createOffer(...words);
    }
  };
})()`;

// A promise of the codecs that the audio has in each direction: { sent, received }.
export const codecsInUse = `window.connections.at(-1).getStats().then((report) => {
  const codec = (type) => report.get([...report.values()].find((s) => s.type === type)?.codecId);
  return { sent: codec('outbound-rtp')?.mimeType, received: codec('inbound-rtp')?.mimeType };
})`;

// A promise of the inbound audio's statistics.
export const inbound = `window.connections.at(-1).getStats().then((report) =>
  ({ ...[...report.values()].find((s) => s.type === 'inbound-rtp' && s.kind === 'audio') }))`;

// The longest time between two packets, as the page's own counters tell it each 20 ms. While a busy
// machine does not let the page look, it can not tell: such a pause counts as one look of 100 ms.
export const longestGap = (ms) => `(async () => {
  const packets = async () => (await ${inbound}).packetsReceived;
  let received = await packets();
  let looked = performance.now();
  let gap = 0;
  let longest = 0;
  const end = looked + ${ms};
  while (looked < end) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const count = await packets();
    const now = performance.now();
    gap += Math.min(100, now - looked);
    looked = now;
    longest = Math.max(longest, gap);
    if (count !== received) gap = 0;
    received = count;
  }
  return longest;
})()`;

// A promise of the address that the browser sends to: { protocol, address, port }.
export const selectedPath = `window.connections.at(-1).getStats().then((report) => {
  const all = [...report.values()];
  const chosen = all.find((s) => s.type === 'transport')?.selectedCandidatePairId;
  const pair = report.get(chosen) ?? all.find((s) => s.type === 'candidate-pair' && s.selected);
  const { protocol, address, port } = report.get(pair.remoteCandidateId);
  return { protocol, address, port };
})`;

// Whether the browser has played of it: only then its statistics say something.
export const isHeard = `(${inbound}).then((stats) => stats.jitterBufferEmittedCount > 0)`;

// A promise of the datagrams that the browser sent and received: DTLS, RTP and RTCP as its
// transport counts them, and the checks of every pair of addresses. Chromium only.
export const datagrams = `window.connections.at(-1).getStats().then((report) => {
  const all = [...report.values()];
  const sum = (type, ...names) => all.filter((s) => s.type === type)
    .reduce((total, s) => total + names.reduce((n, name) => n + (s[name] ?? 0), 0), 0);
  return {
    voiceSent: sum('outbound-rtp', 'packetsSent'),
    voiceReceived: sum('inbound-rtp', 'packetsReceived'),
    sent: sum('transport', 'packetsSent') + sum('candidate-pair', 'requestsSent', 'responsesSent'),
    received: sum('transport', 'packetsReceived') +
      sum('candidate-pair', 'requestsReceived', 'responsesReceived'),
    pairsChecked: all.filter((s) => s.type === 'candidate-pair' && s.requestsSent > 0).length,
  };
})`;

// A promise of what is heard for `ms`: each 20 ms how loud the microphone and the agent's sound are
// (mean square of the last 21 ms, 1 = full scale). getStats would not do: it tells the loudest of
// the last 100 ms, and fades it.
export const recordLevels = (ms) => `(async () => {
  const context = new AudioContext({ sampleRate: 48000 });
  const [user] = window.connections.at(-1).getSenders();
  const [agent] = window.connections.at(-1).getReceivers();
  const samples = new Float32Array(1024);
  const meter = ({ track }) => {
    const node = new AnalyserNode(context, { fftSize: samples.length });
    context.createMediaStreamSource(new MediaStream([track])).connect(node);
    return () => {
      node.getFloatTimeDomainData(samples);
      return samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
    };
  };
  const meters = { user: meter(user), agent: meter(agent) };
  const trace = [];
  const began = performance.now();
  while (performance.now() < began + ${ms}) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const second = (performance.now() - began) / 1000;
    trace.push({ second, user: meters.user(), agent: meters.agent() });
  }
  return trace;
})()`;
