import { hash } from 'node:crypto';
import type { Member } from './prepare.ts';

/**
 * A ConfigMap holds 1 MiB, and an object with everything around it 1.5 MiB. Where a group's sources need more, they are
 * spread over shards, each with a ConfigMap and a Deployment of its own.
 *
 * A shard takes at most 768 KiB of file, 256 KiB of variables, and 1,536 sources, because each stands as an owner in
 * every object. The rest is for the settings and for what the API server adds.
 */
const SHARD_LIMIT = 768 * 1024;
const SOURCE_WEIGHT = 512;
const VARIABLE_WEIGHT = 3;
/** Shards are planned this full, so that sources can join without a new shard. */
const PLANNED = 0.6;
/** Below this, a group goes back to fewer shards. */
const SPARSE = 0.25;

/**
 * Which source runs in which shard: element 0 is shard 1. A source keeps its shard when others come and go; when a
 * shard is added, only the sources that it takes move.
 * @param current the number of shards that exist; it is kept as long as it fits
 */
export function shardsOf(members: readonly Member[], current: number): Member[][] {
  const weights = new Map(members.map((one) => [one, weightOf(one)]));
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const planned = Math.max(1, Math.ceil(total / (SHARD_LIMIT * PLANNED)));
  const keeps = current >= 1 && (current === 1 || total / current >= SHARD_LIMIT * SPARSE);
  for (let count = keeps ? current : planned; ; count = Math.max(count + 1, planned)) {
    const shards = spread(members, count);
    const fits = shards.every((shard) => shard.reduce((sum, one) => sum + (weights.get(one) ?? 0), 0) <= SHARD_LIMIT);
    if (fits || count >= members.length) return shards;
  }
}

function weightOf({ text, env, envFrom }: Member): number {
  const variables = Buffer.byteLength(JSON.stringify([env, envFrom]));
  return Math.max(Buffer.byteLength(text), variables * VARIABLE_WEIGHT, SOURCE_WEIGHT);
}

function spread(members: readonly Member[], count: number): Member[][] {
  const shards: Member[][] = Array.from({ length: count }, () => []);
  for (const one of members) shards[shardOf(one.resource, count)]?.push(one);
  return shards;
}

/** The shard whose hash with the name is the highest (rendezvous hashing). */
function shardOf(name: string, count: number): number {
  if (count === 1) return 0;
  let [best, highest] = [0, ''];
  for (let shard = 0; shard < count; shard++) {
    const score = hash('sha256', `${shard}/${name}`);
    if (score > highest) [best, highest] = [shard, score];
  }
  return best;
}
