// page.mjs - expressions for a browser's page: its connection as the browser itself sees it

// Before Talk is pressed: keeps every connection that the page makes.
export const watchConnections = `(() => {
  const Real = window.RTCPeerConnection;
  window.connections = [];
  window.RTCPeerConnection = class extends Real {
    constructor(...words) { super(...words); window.connections.push(this); }
  };
})()`;

// A promise of the inbound audio's statistics.
export const inbound = `window.connections.at(-1).getStats().then((report) =>
  ({ ...[...report.values()].find((s) => s.type === 'inbound-rtp' && s.kind === 'audio') }))`;
