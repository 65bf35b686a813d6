/**
 * An operator as a process, for tests that freeze it: while it leads, it writes its name into a ConfigMap all the time.
 * Arguments: kubeconfig, namespace, identity, milliseconds of the lease.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient } from '../../kubernetes/api-client.ts';
import { kubeconfigCredentials } from '../../kubernetes/kubeconfig-credentials.ts';
import { LeaderElection } from '../leader-election.ts';
import { CONFIG_MAPS } from '../../kubernetes/resources.ts';
import { leaderGatedClient } from '../leader-gated-client.ts';

const [kubeconfig = '', namespace = '', identity = '', leaseMs = ''] = process.argv.slice(2);
const api = new ApiClient({ credentials: await kubeconfigCredentials(kubeconfig), userAgent: identity });
const election = new LeaderElection({ api, namespace, name: 'operator', identity, leaseMs: Number(leaseMs) });
const guarded = leaderGatedClient(api, () => election.leading(), new AbortController().signal);
await election.run(async (signal) => {
  process.stdout.write('leads\n');
  try {
    // Without a look at the signal: only the guard keeps it from writing.
    for (;;) {
      await guarded.merge({ data: { writer: identity } }, CONFIG_MAPS, { name: 'written', namespace });
      await delay(10);
    }
  } finally {
    process.stdout.write(signal.aborted ? 'ended\n' : 'failed\n');
  }
}, new AbortController().signal);
