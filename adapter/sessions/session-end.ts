import type { SessionRecord } from '../state/state-store.ts';
import type { SessionObservation } from '../telemetry/telemetry.ts';

/** What is told of a session when it ends. */
export function sessionEnd(
  { serverId, createdAt, protocolVersion }: Pick<SessionRecord, 'serverId' | 'createdAt' | 'protocolVersion'>,
  event: SessionObservation['event'],
  now: number,
): SessionObservation {
  return { serverId, event, seconds: Math.max(0, now - createdAt) / 1000, protocolVersion };
}
