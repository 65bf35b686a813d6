import { randomUUID } from 'node:crypto';

import type { UpstreamSession } from '../../exchange/upstream.ts';

/**
 * In place of the id of an upstream session: the upstream speaks the revision without sessions only, so this one is kept here.
 * No upstream can give out such an id, as theirs have no spaces.
 */
const BRIDGED = 'bridged to 2026-07-28';

export const bridgedSessionId: string = BRIDGED;

/** Whether the client's session has no upstream session because its upstream knows none. */
export const isBridged = ({ upstreamSessionId }: UpstreamSession): boolean => upstreamSessionId === BRIDGED;

/** The session of one call, as this side knows it. */
export const newSession = (serverId: string): Pick<UpstreamSession, 'serverId' | 'sessionId' | 'generation'> => ({
  serverId,
  sessionId: `bridge-${randomUUID()}`,
  generation: 0,
});
