/* stats.js - the few numbers of getStats() that a person or a test wants to see */

export const noStats = Object.freeze({
  packetsReceived: 0,
  packetsLost: 0,
  rtt: null, // ms
  jitter: null, // ms
  path: '', // "udp 203.0.113.10:3478"
});

function selectedPair(report, all) {
  const transport = all.find((s) => s.type === 'transport' && s.selectedCandidatePairId);
  if (transport) {
    return report.get(transport.selectedCandidatePairId);
  }
  return all.find((s) => s.type === 'candidate-pair' && s.nominated && s.state === 'succeeded');
}

function describePath(candidate) {
  const address = candidate?.address;
  if (!address) {
    return '';
  }
  const host = address.includes(':') ? `[${address}]` : address;
  return `${candidate.protocol.toLowerCase()} ${host}:${candidate.port}`;
}

const toMs = (seconds) => (Number.isFinite(seconds) ? seconds * 1000 : null);

export async function readStats(connection) {
  const report = await connection.getStats();
  const all = [...report.values()];
  const inbound = all.find((s) => s.type === 'inbound-rtp' && s.kind === 'audio');
  const remote = all.find((s) => s.type === 'remote-inbound-rtp' && s.kind === 'audio');
  const pair = selectedPair(report, all);
  return {
    packetsReceived: inbound?.packetsReceived ?? 0,
    packetsLost: inbound?.packetsLost ?? 0,
    rtt: toMs(pair?.currentRoundTripTime) ?? toMs(remote?.roundTripTime),
    jitter: toMs(inbound?.jitter),
    path: describePath(pair && report.get(pair.remoteCandidateId)),
  };
}
