import { valueAt } from '../../crds/config/tree.ts';
import { listAt, textAt } from '../runtime/raw.ts';
import { bytesOf } from './grown-claims.ts';

/** Beside the heap, a program needs memory for buffers, connections, code and threads. */
const SHARE = 0.6;
const MEBIBYTE = 1024 * 1024;
const VARIABLE = 'NODE_OPTIONS';

type PodSpec = Readonly<Record<string, unknown>>;

/**
 * Tells the program in this container how large its heap may be, from the memory limit that the container has in the end:
 * a heap that grows past it ends in a kill by the kernel, without a word. What the overlay says counts, but no variable
 * of `envFrom` does: Node would take code from it.
 */
export function withHeap(spec: PodSpec, container: string): PodSpec {
  const { containers } = spec;
  if (!Array.isArray(containers)) return spec;
  return {
    ...spec,
    containers: containers.map((one: unknown) => (textAt(one, 'name') === container ? limited(one as object) : one)),
  };
}

function limited(container: object): object {
  const env = listAt(container, 'env');
  if (env.some((variable) => textAt(variable, 'name') === VARIABLE)) return container;
  const bytes = bytesOf(valueAt(container, ['resources', 'limits', 'memory']));
  const mebibytes = Math.floor((bytes * SHARE) / MEBIBYTE);
  const value = mebibytes > 0 ? `--max-old-space-size=${mebibytes}` : '';
  if (value === '' && listAt(container, 'envFrom').length === 0) return container;
  return { ...container, env: [...env, { name: VARIABLE, value }] };
}
