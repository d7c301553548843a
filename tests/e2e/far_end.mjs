// far_end.mjs - the other end of a call without any service of ours: a second tab, and a server
// that gives out web/ as signaling does and carries offers and answers between the two
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, extname, join } from 'node:path';

import { root } from './suite.mjs';

export const toneHz = 440;
export const callsPath = '/v1/realtime/calls';
export const location = `${callsPath}/rtc_page`;
export const secretPath = '/demo/secret';
const secret = 'ek_of_the_far_end';

const policy = "default-src 'self'; connect-src 'self'; media-src 'self' blob:; " +
  "style-src 'self'; script-src 'self'";
const types = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

// Answers an offer with a tone; window.calls[i] is the far end of the i-th call.
async function answer({ sdp, toneHz: frequency }) {
  const connection = new RTCPeerConnection();
  const context = new AudioContext();
  const tone = new OscillatorNode(context, { frequency });
  const sink = context.createMediaStreamDestination();
  tone.connect(sink);
  tone.start();
  connection.ondatachannel = ({ channel }) => {
    window.channel = channel;
    window.heard = []; // the events of the page
    channel.onmessage = ({ data }) => window.heard.push(JSON.parse(data));
  };
  await connection.setRemoteDescription({ type: 'offer', sdp });
  [window.track] = sink.stream.getAudioTracks();
  connection.addTrack(window.track, sink.stream);
  await connection.setLocalDescription(await connection.createAnswer());
  while (connection.iceGatheringState !== 'complete') {
    await new Promise((done) => { connection.onicegatheringstatechange = done; });
  }
  window.calls = [...(window.calls ?? []), connection];
  return connection.localDescription.sdp;
}

// Restarts the ICE of a call with the credentials of a fragment, and lets it sound again.
async function repair({ number, fragment }) {
  const connection = window.calls[number];
  const lineOf = (text, name) => new RegExp(`^a=${name}:.*$`, 'm').exec(text)[0].trim();
  const withCredentials = (sdp, names) => names.reduce((text, name) =>
    text.replace(new RegExp(`^a=${name}:.*$`, 'gm'), lineOf(fragment, name)), sdp);
  const sdp = withCredentials(connection.remoteDescription.sdp, ['ice-ufrag', 'ice-pwd']);
  await connection.setRemoteDescription({ type: 'offer', sdp });
  await connection.setLocalDescription(await connection.createAnswer());
  await connection.getSenders()[0].replaceTrack(window.track);
  const own = connection.localDescription.sdp;
  return `${lineOf(own, 'ice-ufrag')}\r\n${lineOf(own, 'ice-pwd')}\r\n`;
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export class FarEnd {
  requests = []; // "POST /v1/realtime/calls", "DELETE ...", in order
  refusal = null; // { status, body } for the next offers
  isDead = false; // hangs up on the next offers
  isMute = false; // does not answer a DELETE
  canRepair = false; // answers a PATCH, else it is 404
  isUnreachable = false; // answers the next offers, but no check of theirs
  tab = null; // a page of this server's origin, set before the first call

  #said = 0;
  #server = createServer((request, response) => this.#serve(request, response));

  async open() {
    await new Promise((done) => this.#server.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${this.#server.address().port}/`;
    return this;
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  // An event of the server's.
  say(event) {
    const whole = { event_id: `event_${this.#said++}`, ...event };
    return this.tab.evaluate((text) => window.channel.send(text), JSON.stringify(whole));
  }

  // The events of the page that are of a type.
  async heard(type) {
    const all = await this.tab.evaluate(() => window.heard ?? []);
    return all.filter((event) => event.type === type);
  }

  count(request) {
    return this.requests.filter((seen) => seen === request).length;
  }

  #serve(request, response) {
    const { pathname } = new URL(request.url, this.url);
    if (request.method === 'GET') {
      this.#file(pathname === '/' ? 'index.html' : basename(pathname), response);
      return;
    }
    this.requests.push(`${request.method} ${pathname}`);
    if (pathname === secretPath) {
      const expires_at = Date.now() / 1000 + 600;
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ value: secret, expires_at }));
    } else if (request.headers.authorization !== `Bearer ${secret}`) {
      response.writeHead(401).end();
    } else if (request.method === 'POST') this.#call(request, response);
    else if (request.method === 'PATCH') this.#repair(request, response);
    else if (!this.isMute) response.end();
  }

  #file(name, response) {
    const path = join(root, 'web', name);
    const type = types[extname(name)];
    if (!type || !existsSync(path)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      'Content-Type': `${type}; charset=utf-8`,
      'Content-Security-Policy': policy,
    });
    response.end(readFileSync(path));
  }

  async #repair(request, response) {
    if (!this.canRepair || request.headers['if-match'] !== '*') {
      response.writeHead(404).end();
      return;
    }
    const fragment = await bodyOf(request);
    const number = this.count(`POST ${callsPath}`) - 1;
    const body = await this.tab.evaluate(repair, { number, fragment });
    response.writeHead(200, { 'Content-Type': 'application/trickle-ice-sdpfrag' }).end(body);
  }

  async #call(request, response) {
    if (this.isDead) {
      request.socket.destroy();
    } else if (request.headers['content-type'] !== 'application/sdp') {
      response.writeHead(415).end();
    } else if (this.refusal) {
      response.writeHead(this.refusal.status, { 'Content-Type': 'application/json' });
      response.end(this.refusal.body);
    } else {
      let sdp = await this.tab.evaluate(answer, { sdp: await bodyOf(request), toneHz });
      if (this.isUnreachable) sdp = sdp.replace(/(?<=^a=ice-pwd:).*$/m, 'wrong'.repeat(5));
      response.writeHead(201, { 'Content-Type': 'application/sdp', Location: location }).end(sdp);
    }
  }
}
