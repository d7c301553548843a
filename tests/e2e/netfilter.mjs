// netfilter.mjs - what the network of a test lets through; only for a namespace of the test's own
import { execFileSync } from 'node:child_process';

export const mediaPort = 3478;

const iptables = { 4: 'iptables', 6: 'ip6tables' };

export function filter(family, ...words) {
  execFileSync(iptables[family], ['--wait', ...words], { stdio: ['ignore', 'ignore', 'inherit'] });
}

// A network that lets no UDP to the relays' public port through, nor back.
export function blockUdp(families = [4, 6]) {
  for (const family of families) {
    filter(family, '-A', 'OUTPUT', '-p', 'udp', '--dport', mediaPort, '-j', 'DROP');
    filter(family, '-A', 'OUTPUT', '-p', 'udp', '--sport', mediaPort, '-j', 'DROP');
  }
}

export function openAll() {
  for (const family of [4, 6]) filter(family, '-F', 'OUTPUT');
}

// As a Service does: what goes to this address and TCP port comes to the relay's.
export function mapTcp(address, port, to) {
  filter(4, '-t', 'nat', '-A', 'OUTPUT', '-p', 'tcp', '-d', address, '--dport', port,
    '-j', 'DNAT', '--to-destination', to);
}
