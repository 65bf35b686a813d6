/** Why something that an upstream sends does not reach the client. */
export type Refusal =
  /** It is no JSON object, or an array of them, as every parser reads it. */
  | 'malformed'
  /** A member of the protocol stands there twice, or in another spelling. */
  | 'member'
  /** It is neither a request, nor a notification, nor a response. */
  | 'kind'
  /** It is a response that nobody waits for here. */
  | 'unasked'
  /** Clients take events of this name for no messages. */
  | 'event';
