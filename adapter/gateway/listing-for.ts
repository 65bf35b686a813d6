import { isWorkspace } from '../sessions/workspace.ts';
import type { SessionRecord } from '../state/state-store.ts';
import type { InventoryRequest } from './tool-inventory.ts';
import { ownUpstreamOf } from './own-upstream.ts';
import type { Turn } from './turn.ts';

/** The request for the tools that the client of a turn would see. */
export function listingFor(turn: Turn, record: SessionRecord): InventoryRequest {
  const listing = sessionlessListing(turn);
  if (isWorkspace(record)) return listing;
  const headers = turn.mount.headers.forward('POST', turn.incoming.headers, false);
  return { ...listing, inSession: { session: record, headers } };
}

/** The same in the sessionless revision. */
export function sessionlessListing(turn: Turn): InventoryRequest {
  const { mount, incoming } = turn;
  return {
    serverId: mount.serverId,
    upstream: ownUpstreamOf(turn),
    redact: mount.redact,
    inventory: mount.inventory,
    clientKey: mount.headers.clientKey(incoming.headers),
    base: mount.headers.base('POST', incoming.headers),
    inSession: undefined,
  };
}
