/** Pure: whether the entries of `adapters` fit what their servers list, put together. */
import type { DesiredCondition } from '../../status/conditions.ts';
import type { PodHealth } from '../health/pod-health.ts';

const MOST = 10;
const WHAT = {
  no_tool: 'names a tool that the server does not list',
  no_argument: 'names an argument that none of its tools has',
} as const;

/**
 * @param health of ready pods
 * @param hasRules whether the specification has any such entry
 * @returns undefined without entries
 */
export function fileRulesCondition(health: readonly PodHealth[], hasRules: boolean): DesiredCondition | undefined {
  if (!hasRules) return undefined;
  const reports = health.flatMap(({ servers }) =>
    servers.flatMap(({ id, fileRules = [] }) =>
      fileRules.map(({ entry, reason }) => `adapters[${entry}] of the server ${id} ${WHAT[reason]}`),
    ),
  );
  const problems = [...new Set(reports)].sort();
  if (problems.length === 0) {
    const message =
      'No entry of adapters names a tool or an argument that its server lacks, as far as they were listed';
    return { type: 'FileRulesMatched', status: 'True', reason: 'Matched', message };
  }
  const more = problems.length > MOST ? `; ${problems.length - MOST} more` : '';
  const message =
    `${problems.slice(0, MOST).join('; ')}${more}. The files of these are not taken or given. ` +
    'The logs of the pods and their /healthz (with the token) have the names';
  return { type: 'FileRulesMatched', status: 'False', reason: 'RulesWithoutTool', message };
}
