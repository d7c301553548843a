// sdk_page.mjs - calls with the unmodified npm packages, inside a browser: window.sdk for a test
//
// A test opens calls by name and reads what happened to them; everything has the page's time in ms.
import {
  OpenAIRealtimeWebRTC as AgentsWebRTC, RealtimeAgent, RealtimeSession, tool,
} from '/packages/@openai/agents-realtime/dist/bundle/openai-realtime-agents.mjs';
import { OpenAIRealtimeWebRTC } from '/packages/openai/realtime/webrtc.mjs';

const lookMs = 20;
const now = () => performance.now();
const calls = {}; // by name
const complaints = []; // of the packages, to nobody in particular
addEventListener('error', ({ message }) => complaints.push(message));
addEventListener('unhandledrejection', ({ reason }) => complaints.push(String(reason)));

// One call, as it is seen from outside of the package that makes it.
class Watched {
  events = []; // { ms, event }, of the server
  states = []; // { ms, state }
  errors = []; // { ms, text }
  deltas = []; // of the transcript, as the package hands them on
  toolCalls = [];
  levels = []; // { ms, rms } of the sound that is received
  callId = '';
  isText = true; // every event came as text

  hearEvents(channel) {
    channel.addEventListener('message', ({ data }) => {
      this.isText &&= typeof data === 'string';
      this.events.push({ ms: now(), event: JSON.parse(data) });
    });
  }

  hearSound(connection) {
    this.connection = connection;
    connection.addEventListener('track', ({ track, streams }) => {
      this.hasStream = streams.length > 0;
      this.sound = new Audio();
      this.sound.srcObject = new MediaStream([track]);
      this.sound.play().catch(() => {});
      const context = new AudioContext();
      const meter = new AnalyserNode(context, { fftSize: 1024 });
      context.createMediaStreamSource(this.sound.srcObject).connect(meter);
      const samples = new Float32Array(meter.fftSize);
      this.timer = setInterval(() => {
        meter.getFloatTimeDomainData(samples);
        const square = samples.reduce((sum, sample) => sum + sample * sample, 0);
        this.levels.push({ ms: now(), rms: Math.sqrt(square / samples.length) });
      }, lookMs);
    });
  }

  fail(error) {
    const inner = error?.error?.error ?? error?.error ?? error;
    const text = inner instanceof Error ? `${inner.name}: ${inner.message}` : JSON.stringify(inner);
    this.errors.push({ ms: now(), text });
  }

  turn(state) {
    this.states.push({ ms: now(), state });
  }
}

// Muted until a test speaks. An echo canceller would take the file for an echo of the agent.
async function microphone() {
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false },
  });
  stream.getAudioTracks()[0].enabled = false;
  return stream;
}

async function openAgents(name, { url, key, instructions = 'Say something.', hasTool = false }) {
  const call = new Watched();
  calls[name] = call;
  call.microphone = await microphone();
  const weather = tool({
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
    strict: true,
    execute: async (given) => {
      call.toolCalls.push(given);
      return 'rain, 9 degrees';
    },
  });
  const agent = new RealtimeAgent({ name: 'Test', instructions, tools: hasTool ? [weather] : [] });
  const transport = new AgentsWebRTC({
    baseUrl: `${url}/realtime/calls`,
    mediaStream: call.microphone,
    changePeerConnection: (connection) => {
      call.hearSound(connection);
      return connection;
    },
  });
  call.session = new RealtimeSession(agent, { transport });
  call.send = (event) => transport.sendEvent(event);
  call.session.on('error', (error) => call.fail(error));
  transport.on('audio_transcript_delta', ({ delta }) => call.deltas.push(delta));
  transport.on('connection_change', (state) => {
    call.turn(state);
    if (state === 'connecting') call.hearEvents(transport.connectionState.dataChannel);
  });
  const began = now();
  await call.session.connect({ apiKey: key });
  call.callId = transport.callId;
  call.close = () => call.session.close();
  return { connectMs: now() - began, callId: call.callId };
}

// The offer as an application may send it: raw, in a form with a session, to the older path.
function request(way, url, sdp, session) {
  if (way === 'form') {
    const body = new FormData();
    body.set('sdp', sdp);
    body.set('session', JSON.stringify(session));
    return [`${url}/realtime/calls`, { body, headers: {} }];
  }
  const path = way === 'older' ? '/realtime?model=gpt-realtime' : '/realtime/calls';
  return [url + path, { body: sdp, headers: { 'Content-Type': 'application/sdp' } }];
}

async function openOpenai(name, { url, key, way = 'raw', session = {} }) {
  const call = new Watched();
  calls[name] = call;
  call.microphone = await microphone();
  const realtime = new OpenAIRealtimeWebRTC();
  realtime.onConnectionEvent(({ type, reason, error }) => {
    call.turn(reason ? `${type}:${reason}` : type);
    if (type === 'error') call.fail(error);
  });
  call.hearEvents(realtime.dataChannel);
  call.hearSound(realtime.peerConnection);
  realtime.peerConnection.addTrack(call.microphone.getAudioTracks()[0], call.microphone);
  call.send = (event) => realtime.send(event);
  call.close = () => realtime.close();
  const answer = {};
  const began = now();
  await realtime.connect({
    timeoutMs: 15000,
    exchangeSdp: async (sdp, { signal }) => {
      const [path, { body, headers }] = request(way, url, sdp, session);
      const response = await fetch(path, {
        method: 'POST', signal, body, headers: { ...headers, Authorization: `Bearer ${key}` },
      });
      Object.assign(answer, {
        status: response.status,
        type: response.headers.get('Content-Type'),
        sdp: await response.text(),
      });
      call.callId = response.headers.get('Location')?.split('/').pop() ?? '';
      if (!response.ok) throw new Error(`status ${response.status}: ${answer.sdp}`);
      return answer.sdp;
    },
  });
  return { connectMs: now() - began, callId: call.callId, answer };
}

async function stats(name) {
  const all = [...(await calls[name].connection.getStats()).values()];
  const inbound = all.find((s) => s.type === 'inbound-rtp' && s.kind === 'audio') ?? {};
  const outbound = all.find((s) => s.type === 'outbound-rtp' && s.kind === 'audio') ?? {};
  return {
    received: inbound.packetsReceived ?? 0,
    lost: inbound.packetsLost ?? 0,
    sent: outbound.packetsSent ?? 0,
    ms: now(),
  };
}

function stop(name) {
  const call = calls[name];
  clearInterval(call.timer);
  if (call.sound) call.sound.srcObject = null;
  call.microphone.getTracks().forEach((track) => track.stop());
  delete calls[name];
}

// What happened since the counts of before.
function news(name, { events = 0, levels = 0 } = {}) {
  const call = calls[name];
  return {
    now: now(),
    events: call.events.slice(events),
    levels: call.levels.slice(levels),
    states: call.states,
    errors: call.errors,
    deltas: call.deltas,
    toolCalls: call.toolCalls,
    isText: call.isText,
    hasStream: call.hasStream ?? false,
    complaints,
    history: JSON.parse(JSON.stringify(call.session?.history ?? [])),
  };
}

window.sdk = {
  openAgents,
  openOpenai,
  stats,
  stop,
  news,
  speak: (name, isOn) => { calls[name].microphone.getAudioTracks()[0].enabled = isOn; },
  send: (name, event) => calls[name].send(event),
  sendMessage: (name, text) => calls[name].session.sendMessage(text),
  interrupt: (name) => calls[name].session.interrupt(),
  close: (name) => calls[name].close(),
  now,
};
