// sideband_wss_test.mjs - servers beside a call, over wss: the side-bands of both packages at once
//
// Node trusts the CA of ./dev up --tls by NODE_EXTRA_CA_CERTS, which it reads when it starts: what
// speaks TLS is a process of its own (sideband_calls.mjs).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { check, run, withSuite } from './suite.mjs';

await withSuite(['--tls'], async () => {
  const calls = fileURLToPath(new URL('sideband_calls.mjs', import.meta.url));
  const child = spawn(process.execPath, [calls], {
    stdio: 'inherit',
    env: {
      ...process.env,
      EARSHOT_BASE_URL: process.env.EARSHOT_BASE_URL ?? 'https://127.0.0.1:8443/v1',
      NODE_EXTRA_CA_CERTS: join(run, 'tls/ca.crt'),
    },
  });
  const [status] = await once(child, 'exit');
  check('the calls over TLS', status === 0, status);
});
