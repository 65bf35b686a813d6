/**
 * CPU time of a decision about a tool call under 40 rules that all concern the caller, the last of which decides: known from
 * an earlier call, and for a name that was never seen. Usage: node bench/access-rules.ts
 */
import { AccessConfig } from '../crds/config/adapter-file/access.ts';
import { AccessRules } from '../adapter/access/access-rules.ts';
import { claimedIdentity } from '../adapter/identity/identity.ts';

const RULES = 40;
const CALLS = 200_000;
const ROUNDS = 5;

const rules = Array.from({ length: RULES }, (_, i) =>
  i === RULES - 1
    ? { effect: 'allow', tools: ['*'] }
    : { effect: 'deny', claims: { groups: ['support'] }, tools: [`hidden_${i}_*`, `*_${i}_secret`] },
);
const access = new AccessRules(AccessConfig.parse({ default: 'deny', rules }));
const identity = claimedIdentity('https://id.example.com', { sub: 'anna', scope: 'tools', groups: ['support'] });

function cost(toolOf: (i: number) => string): number {
  const before = process.cpuUsage();
  for (let i = 0; i < CALLS; i++) {
    if (!access.of(identity).allows({ method: 'tools/call', tool: toolOf(i) })) throw new Error('denied');
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

let names = 0;
for (let round = 0; round < ROUNDS; round++) {
  const known = cost((i) => `tool_${i % 100}`);
  const unseen = cost(() => `tool_${names++}_of_many`);
  process.stdout.write(`known ${known.toFixed(2)} µs, never seen ${unseen.toFixed(2)} µs\n`);
}
