import { fileURLToPath } from 'node:url';
import { freePort } from '../../support/ports.ts';
import { type RunningProcess, describe, startProcess } from '../../support/processes.ts';
import type { ObservedOperator } from './observe-operator.ts';

const MAIN = fileURLToPath(new URL('../../../operator/main.ts', import.meta.url));

/** As its Deployment sets it. */
export const OPERATOR_ENV = { MALLOC_ARENA_MAX: '1' };

/** What follows `node` to run the operator, from source unless another `main` is given. */
export function operatorArgs(kubeconfig: string, port: number, main = MAIN): string[] {
  return [main, 'run', '--kubeconfig', kubeconfig, '--metrics-port', String(port)];
}

/** Starts the operator outside of the cluster; it works at once, because nobody else holds the lease. */
export async function startOperator(kubeconfig: string): Promise<ObservedOperator & RunningProcess> {
  const port = await freePort();
  const running = startProcess(process.execPath, operatorArgs(kubeconfig, port), OPERATOR_ENV);
  return Object.assign(running, {
    port,
    fate: () => (running.hasExited() ? describe('the operator', running) : undefined),
  });
}
