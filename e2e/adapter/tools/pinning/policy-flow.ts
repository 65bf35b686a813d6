import { expect } from 'vitest';
import type { RealClient } from '../../../support/real-client.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { ScriptedUpstream } from '../../../support/scripted-upstream/scripted-upstream.ts';
import { eventually } from '../../kit/eventually.ts';
import { ALL, before, CALLED, definitionsOf, reordered, show, type Tools } from '../kit/changes.ts';
import { type Connect, listOf, told } from '../kit/client.ts';
import { driftError, unknownTool } from '../kit/errors.ts';
import { helperOf, isStrict, type Policy } from '../kit/policies.ts';

export interface Stage {
  readonly upstream: ScriptedUpstream;
  readonly policy: Policy;
  /** With that policy, in front of that upstream. */
  readonly serverId: string;
  /** `http://…`, without the mount path. */
  readonly url: string;
  /** How many replicas answer in turn. */
  readonly replicas: number;
  readonly connect: Connect;
  /** Whether the upstream says that its tools have changed. */
  readonly announces: boolean;
  /** Whether lists are cached for longer than this takes. */
  readonly caches: boolean;
}

const SURVIVOR = 'same';
const CHANGED = ['described', 'schemed'];
const ADDED = ['added', 'new_name'];
const REMOVED = ['gone', 'old_name'];
const WARNING =
  'WARNING: the tools of this server have changed since this session saw them first: 2 changed, 2 new, 2 removed.';
const IS_NEW = 'WARNING: this tool is new';

/** What a client sees of an upstream that changes everything between two lists, whichever replica answers. */
export async function playPolicy(stage: Stage): Promise<void> {
  const { upstream, policy, connect, url, serverId } = stage;
  show(upstream, before());
  await using client = await connect(`${url}/mcp/${serverId}`);
  await seesAtEachReplica(stage, client, before());

  show(upstream, reordered());
  await announce(stage, client, 1);
  await seesAtEachReplica(stage, client, isCached(stage) ? before() : reordered());
  expect(await client.callTool('described')).toMatchObject({ content: [{ text: CALLED }] });

  show(upstream, ALL.after());
  await announce(stage, client, 2);
  await seesDrift(stage, client);
  await callsAfterDrift(stage, client);

  // Whoever comes now sees the tools as they are, and is pinned to these.
  await using other = await connect(`${url}/mcp/${serverId}`);
  await seesAtEachReplica(stage, other, ALL.after());
  expect(await other.callTool('added')).toMatchObject({ content: [{ text: CALLED }] });
  show(upstream, before());
  await announce(stage, other, 1);
  if (policy.reaction === 'subset') expect(await namesOf(other)).toEqual([SURVIVOR, helperOf(serverId)]);
  if (policy.reaction === 'error') await expect(namesOf(other)).rejects.toMatchObject({ code: 409 });
  // As they were at first, which is what the first session is pinned to, if it lives.
  if (policy.ends) return;
  if (stage.announces) await told(client, 3);
  await seesAtEachReplica(stage, client, before());
}

const namesOf = async (client: RealClient): Promise<unknown[]> => (await listOf(client)).map(({ name }) => name);

/** Nobody learns of a change that is not announced while lists are cached, unless the pins must hold. */
const isCached = ({ policy, announces, caches }: Stage): boolean => caches && !announces && !isStrict(policy);

async function announce({ announces, upstream }: Stage, client: RealClient, times: number): Promise<void> {
  if (!announces) return;
  upstream.announceToolsChanged();
  await told(client, times);
}

async function seesAtEachReplica(stage: Stage, client: RealClient, tools: Tools): Promise<void> {
  for (let i = 0; i < stage.replicas; i += 1) sees(stage, await listOf(client), definitionsOf(tools));
}

/** These tools, and among them, once, the adapter's own. */
function sees({ serverId }: Stage, listed: readonly JsonObject[], expected: readonly JsonObject[]): void {
  const isHelper = ({ name }: JsonObject): boolean => name === helperOf(serverId);
  expect(listed.filter((one) => !isHelper(one))).toEqual(expected);
  expect(listed.filter(isHelper)).toHaveLength(1);
}

async function seesDrift(stage: Stage, client: RealClient): Promise<void> {
  const { policy, replicas } = stage;
  const current = definitionsOf(ALL.after());
  if (isCached(stage)) return await seesAtEachReplica(stage, client, before());
  if (policy.ends) return await expect(listOf(client)).rejects.toMatchObject(driftError(ALL.drift));
  for (let i = 0; i < replicas; i += 1) {
    if (policy.reaction === 'error') await expect(listOf(client)).rejects.toMatchObject(driftError(ALL.drift));
    else if (policy.reaction === 'nothing') sees(stage, await listOf(client), current);
    else if (policy.reaction === 'warnings') sees(stage, (await listOf(client)).map(linesOf), current.map(warnedOf));
    else
      sees(
        stage,
        await listOf(client),
        current.filter(({ name }) => name === SURVIVOR),
      );
  }
}

/** What warnings end in is for the eyes of models only. */
const linesOf = (tool: JsonObject): JsonObject => ({
  ...tool,
  description: String(tool.description)
    .split('\n')
    .map((line) => (line.startsWith(IS_NEW) ? IS_NEW : line)),
});

function warnedOf(definition: JsonObject): JsonObject {
  const name = String(definition.name);
  const field = { described: 'description', schemed: 'inputSchema' }[name];
  const changed = field === undefined ? [] : [`WARNING: the definition of this tool has changed (${field}).`];
  const added = ADDED.includes(name) ? [IS_NEW] : [];
  return { ...definition, description: [WARNING, ...changed, ...added, definition.description] };
}

async function callsAfterDrift(stage: Stage, client: RealClient): Promise<void> {
  const { policy, upstream } = stage;
  if (policy.ends) return await isInvalidated(stage, client);
  const before = upstream.requestsOf('tools/call').length;
  expect(await client.callTool(SURVIVOR)).toMatchObject({ content: [{ text: CALLED }] });
  for (const name of [...CHANGED, ...ADDED, ...REMOVED]) {
    const call = client.callTool(name);
    if (policy.reaction === 'error') await expect(call).rejects.toMatchObject(driftError(ALL.drift));
    else if (policy.reaction === 'subset') await expect(call).rejects.toMatchObject(unknownTool(name));
    // That there is no such tool, the upstream itself says.
    else if (REMOVED.includes(name)) await expect(call).rejects.toMatchObject({ code: -32602, data: undefined });
    else expect(await call).toMatchObject({ content: [{ text: CALLED }] });
  }
  // Tools that must not be called are not.
  expect(upstream.requestsOf('tools/call').length - before).toBe(isStrict(policy) ? 1 : 7);
  expect(await client.callTool(helperOf(stage.serverId))).toMatchObject({ structuredContent: {} });
  await client.request('ping');
}

async function isInvalidated({ upstream, replicas }: Stage, client: RealClient): Promise<void> {
  for (let i = 0; i < replicas; i += 1) {
    await expect(client.callTool(SURVIVOR)).rejects.toThrow(/session_invalidated/);
    await expect(listOf(client)).rejects.toThrow(/session_invalidated/);
  }
  await eventually(() => upstream.sessions.size).toBe(0);
}
