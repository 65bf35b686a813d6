/**
 * CPU time that a call takes more for knowing who is calling and what they may do: a token that is kept, one that is not
 * (signatures of two kinds), a decision under 40 rules that all concern the caller, and three limits in memory.
 * Usage: node bench/callers.ts
 */
import { AccessConfig } from '../crds/config/adapter-file/access.ts';
import { AccessRules } from '../adapter/access/access-rules.ts';
import { callOf } from '../adapter/access/wishes.ts';
import { BearerTokens } from '../adapter/identity/bearer-tokens.ts';
import { claimedIdentity } from '../adapter/identity/identity.ts';
import { IssuerKeys } from '../adapter/identity/issuer-keys.ts';
import { AUDIENCE, ISSUER, SampleIssuer, sampleKey, signed } from '../adapter/identity/testing/sample-issuer.ts';
import { MemoryStore } from '../adapter/state/memory/memory-store.ts';
import { CallLimits } from '../adapter/tools/call-limits.ts';

const ROUNDS = 5;

/** Microseconds of CPU for each call of `work`. */
async function cost(calls: number, work: (i: number) => unknown): Promise<number> {
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) {
    const pending = work(i);
    // oxlint-disable-next-line no-await-in-loop -- one after another
    if (pending instanceof Promise) await pending;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

async function tokens(alg: string, count: number) {
  const key = await sampleKey('bench', alg);
  const issuer = new SampleIssuer(key);
  const keys = new IssuerKeys({ issuer: ISSUER, jwksUri: `${ISSUER}/keys`, client: issuer, log: () => undefined });
  await keys.load();
  const oauth = { issuer: ISSUER, algorithms: [alg as 'RS256'], introspection: null };
  const bearer = new BearerTokens({ oauth, audiences: [AUDIENCE], keys, client: issuer });
  const ids = Array.from({ length: count }, (_, i) => signed(key, { jti: String(i), exp: now() + 3600 }));
  return { bearer, all: await Promise.all(ids) };
}

const now = (): number => Math.floor(Date.now() / 1000);

const RULES = 40;
const rules = Array.from({ length: RULES }, (_, i) =>
  i === RULES - 1
    ? { effect: 'allow', tools: ['*'] }
    : { effect: 'deny', claims: { groups: ['support'] }, tools: [`hidden_${i}_*`, `*_${i}_secret`] },
);
const access = new AccessRules(AccessConfig.parse({ default: 'deny', rules }));
const identity = claimedIdentity(ISSUER, { sub: 'anna', scope: 'tools', groups: ['support'] });

const decide = (tool: string): void => {
  if (!access.of(identity).allows(callOf(tool))) throw new Error('denied');
};

const limits = new CallLimits('demo', [
  { per: 'caller', rate: '90000/s', burst: 1_000_000, concurrent: null },
  { per: 'caller+tool', rate: '90000/s', burst: 1_000_000, concurrent: null },
  { per: 'server', rate: null, burst: null, concurrent: 10 },
]);
limits.listed(['find']);
const store = new MemoryStore();
const caller = { principal: 'anna', request: { protocol: 'http', host: 'h' } };
let admitted = 0;

async function limited(): Promise<void> {
  const id = String(admitted++);
  const taking = limits.of(caller, ['find'], true);
  const refused = await store.callLimits.take({ id, until: Date.now() + 60_000, taking }, Date.now());
  if (refused !== undefined) throw new Error('refused');
  await store.callLimits.leave({ id, places: taking.places });
}

let names = 0;
for (let round = 0; round < ROUNDS; round++) {
  const [rs256, es256] = [await tokens('RS256', 2_000), await tokens('ES256', 2_000)];
  const [first = ''] = rs256.all;
  const results = {
    'new RS256': await cost(2_000, (i) => rs256.bearer.identity(rs256.all[i] ?? '')),
    'new ES256': await cost(2_000, (i) => es256.bearer.identity(es256.all[i] ?? '')),
    'kept token': await cost(200_000, () => rs256.bearer.identity(first)),
    '40 rules, known name': await cost(200_000, (i) => decide(`tool_${i % 100}`)),
    '40 rules, new name': await cost(200_000, () => decide(`tool_${names++}_of_many`)),
    'three limits': await cost(200_000, limited),
  };
  process.stdout.write(
    `${Object.entries(results)
      .map(([what, us]) => `${what} ${us.toFixed(2)} µs`)
      .join(', ')}\n`,
  );
}
