import type { Upstream } from '../upstream/upstream.ts';
import type { Turn } from './turn.ts';

/** Where the client's own messages go. */
export function upstreamOf({ mount, trace }: Turn): Upstream {
  return trace === undefined ? mount.upstream : trace.of(mount.upstream);
}

/** Where the adapter's own requests for this client go: the same upstream. */
export function ownUpstreamOf({ mount, trace }: Turn): Upstream {
  return trace === undefined ? mount.own : trace.of(mount.own);
}
