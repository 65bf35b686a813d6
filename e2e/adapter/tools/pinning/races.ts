import { describe, expect, test } from 'vitest';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { ScriptedUpstream } from '../../../support/scripted-upstream/scripted-upstream.ts';
import { openSession } from '../../kit/session.ts';
import { before, definitionsOf, show, tool, type Tools } from '../kit/changes.ts';
import { toolsOf } from '../kit/client.ts';
import { driftError } from '../kit/errors.ts';
import { POLICIES } from '../kit/policies.ts';
import type { Trio } from '../kit/trio.ts';

const LISTS = 50;
/** So long that all requests are under way before the first is answered. */
const SLOW_MS = 150;

const PINNING = POLICIES.filter(({ id }) => id !== 'off');

/** First lists of one session, at all replicas at once. */
export function raceSuite(stage: () => { trio: Trio; upstream: ScriptedUpstream }): void {
  /** The answers to so many lists at once, each replica's turn. */
  async function listsAtOnce(
    id: string,
  ): Promise<{ answers: JsonObject[]; list: (turn: number) => Promise<JsonObject> }> {
    const { trio, upstream } = stage();
    const session = await openSession(trio.at(0), { path: `/mcp/${id}` });
    const list = (turn: number): Promise<JsonObject> => session.at(trio.at(turn)).call('tools/list');
    upstream.behavior.headerDelayMs = SLOW_MS;
    try {
      return { answers: await Promise.all(Array.from({ length: LISTS }, (_, turn) => list(turn))), list };
    } finally {
      upstream.behavior.headerDelayMs = 0;
    }
  }

  describe(`${LISTS} first lists at once`, () => {
    test.for(PINNING)('are the same: policy $id', async ({ id, reaction }) => {
      const { upstream } = stage();
      show(upstream, before());
      const { answers, list } = await listsAtOnce(id);
      for (const { result } of answers) expect(toolsOf(asObject(result)).slice(0, -1)).toEqual(definitionsOf(before()));
      show(upstream, before().slice(1));
      if (reaction === 'error') expect((await list(1)).error).toMatchObject({ data: { removed: ['same'] } });
    });

    test.for(PINNING)('are all different: one is what the session is pinned to: policy $id', async (policy) => {
      const { upstream } = stage();
      let count = 0;
      const flickering = {
        ...tool({}),
        get definition() {
          count += 1;
          return tool({ description: `Answer ${count}.` }).definition;
        },
      };
      const tools: Tools = [...before(), ['flickers', flickering]];
      show(upstream, tools);
      const { answers, list } = await listsAtOnce(policy.id);
      const drift = driftError({ changed: [{ name: 'flickers', fields: ['description'] }], new: [], removed: [] });

      const descriptions = answers.flatMap(({ result }) => {
        const found = toolsOf({ tools: [], ...asObject(result) }).find(({ name }) => name === 'flickers');
        return found === undefined ? [] : [String(found.description)];
      });
      const [pinned = '', ...others] = descriptions.filter((text) => !text.startsWith('WARNING'));
      if (!policy.ends) expect(pinned).toMatch(/^Answer \d+\.$/);
      expect(others).toEqual([]);
      const refused = answers.filter(({ result }) => result === undefined);
      if (policy.ends) {
        // Whoever finds out ends the session for all the others, of which one may have been the first.
        expect(refused.length).toBeGreaterThanOrEqual(LISTS - 1);
        const codes = refused.map(({ error }) => String(asObject(asObject(error).data).code));
        expect(codes).toContain('tool_definition_drift');
        expect(['tool_definition_drift', 'session_ended', 'session_invalidated']).toEqual(
          expect.arrayContaining([...new Set(codes)]),
        );
        for (const turn of [0, 1, 2]) {
          expect((await list(turn)).error).toMatchObject({ data: { code: 'session_invalidated' } });
        }
        return;
      }
      if (policy.reaction === 'error') {
        expect(refused).toHaveLength(LISTS - 1);
        for (const { error } of refused) expect(error).toMatchObject(drift);
      } else {
        expect(refused).toEqual([]);
        expect(descriptions).toHaveLength(policy.reaction === 'warnings' ? LISTS : 1);
      }
      if (policy.reaction === 'warnings') return;
      // What was pinned is what all replicas compare with.
      show(upstream, [...before(), ['flickers', tool({ description: pinned })]]);
      for (const turn of [0, 1, 2]) {
        expect(toolsOf(asObject((await list(turn)).result)).slice(0, -1)).toHaveLength(tools.length);
      }
    });
  });
}
