/** A session belongs to one mounted server; the id is minted by the adapter. */
export interface SessionKey {
  readonly serverId: string;
  readonly sessionId: string;
}
