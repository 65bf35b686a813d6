import type { Goal } from '../goals.ts';
import { adapter } from '../harness/targets.ts';
import type { Target } from '../harness/targets.ts';
import type { Experiment } from './experiment.ts';
import { runLoad } from './load.ts';
import type { LoadCase } from './load.ts';

const OFF = {
  tool_metadata_sanitization: { mode: 'off' },
  tool_description_policy: { mode: 'preserve' },
  tool_definition_pinning: { mode: 'off' },
};
const TRANSFORMED = {
  tool_metadata_sanitization: { mode: 'sanitize' },
  tool_description_policy: { mode: 'truncate' },
  tool_definition_pinning: { mode: 'warn' },
};
/** Nothing may be served that was not compared just now, and five tools stand for all. */
const STRICT = { ...TRANSFORMED, tool_definition_pinning: { mode: 'block' }, code_mode_enabled: true };

const UNCACHED = { upstream_metadata_cache_ttl_seconds: 0 };

const target = (name: string, core: object): Target => adapter({ name, state: 'memory', extra: { core } });

/** The same list from the upstream each time, and kept by the adapter for as long as it does so by default. */
const groups = [
  {
    off: target('off', { ...OFF, ...UNCACHED }),
    transformed: target('transformed', { ...TRANSFORMED, ...UNCACHED }),
    strict: target('strict', { ...STRICT, ...UNCACHED }),
  },
  {
    off: target('off, kept', OFF),
    transformed: target('transformed, kept', TRANSFORMED),
    strict: target('strict, kept', STRICT),
  },
] as const;

const listCase = (name: string, tools: number): LoadCase => ({
  name,
  mount: 'catalog',
  scenario: 'list',
  connections: 8,
  flags: ['-tools', String(tools)],
});
const LIST = listCase('list c8', 204);
/** As many tools as code mode lists, at least; the other target answers with all. */
const FIVE = listCase('list c8, code mode', 5);

const ratio = (one: LoadCase, measured: Target, to: Target): Goal => ({
  case: one.name,
  target: measured.name,
  metric: 'perSecond',
  to: { target: to.name, how: 'ratio' },
});
const enough = { atLeast: 0.7 };
const [asked, kept] = groups;

/** What all that is done to definitions of tools costs those who list them. */
export const tools: Experiment = {
  name: 'tools',
  summary: 'tools/list of 204 tools with all transforms, against none',
  targets: groups.flatMap(({ off, transformed, strict }) => [off, transformed, strict]),
  goals: [
    { ...ratio(LIST, asked.transformed, asked.off), bound: enough },
    { ...ratio(FIVE, asked.strict, asked.off), bound: enough },
    { ...ratio(LIST, kept.transformed, kept.off), bound: enough },
    // Blocking pins ask the upstream for every list, and the other does not: shown only.
    ratio(FIVE, kept.strict, kept.off),
  ],
  async run(bench, record, present) {
    for (const { off, transformed, strict } of groups) {
      const those = (...wanted: Target[]): Target[] => wanted.filter((one) => present.includes(one));
      await runLoad(bench, record, those(off, transformed), [LIST]);
      await runLoad(bench, record, those(off, strict), [FIVE]);
    }
  },
};
