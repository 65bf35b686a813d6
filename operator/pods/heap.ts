import { valueAt } from '../../lib/json/tree.ts';
import { listAt, textAt } from '../kubernetes/unstructured.ts';
import { bytesOf } from './grown-claims.ts';

/** Beside old objects, a program needs memory for buffers, connections, code and threads, and for new objects. */
const SHARE = 0.5;
/**
 * Of the limit, for half of what new objects are copied between. Without a size it grows to 128 MiB in all, whatever the
 * limit is, as soon as the old ones have one; programs are no faster for it.
 */
const NEW_SHARE = 1 / 64;
const MOST_NEW = 16;
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
  const value = heapOptions(bytes);
  if (value === '' && listAt(container, 'envFrom').length === 0) return container;
  return { ...container, env: [...env, { name: VARIABLE, value }] };
}

/** @param bytes the memory limit; of none, or a very small one, nothing follows */
export function heapOptions(bytes: number): string {
  const old = Math.floor((bytes * SHARE) / MEBIBYTE);
  const young = Math.max(1, Math.min(MOST_NEW, Math.floor((bytes * NEW_SHARE) / MEBIBYTE)));
  return old > 0 ? `--max-old-space-size=${old} --max-semi-space-size=${young}` : '';
}
