import { type AccountLimits, ByteAccount } from '../byte-account.ts';

/** An account in which there is room for everything but what `limits` say. */
export function sampleAccount(limits: Partial<AccountLimits> = {}): ByteAccount {
  return new ByteAccount({ total: Infinity, perServer: Infinity, perClient: Infinity, ...limits });
}
