import type { ListedTool } from './listed-tool.ts';
import { isPathLike } from './path-like.ts';
import { ROLE_RULES, type RoleRule } from './role-rules.ts';
import { commonPrefix, type Subject, subjectOf } from './subject.ts';
import type { FileRole, LeftOut, Suggestion } from './suggestion.ts';
import { toolArguments } from './tool-arguments.ts';

export interface SuggestedRoles {
  readonly suggestions: readonly Suggestion[];
  readonly leftOut: readonly LeftOut[];
}

/** The roles of all arguments that are files, in the order of the list. Pure: the same list leads to the same roles. */
export function suggestRoles(tools: readonly ListedTool[]): SuggestedRoles {
  const suggestions: Suggestion[] = [];
  const leftOut: LeftOut[] = [];
  const prefix = commonPrefix(tools);
  for (const tool of tools) {
    for (const { subject, rule } of decided(tool, prefix)) {
      const { role, name, because } = rule;
      const common = { tool: tool.name, argument: subject.argument.path, rule: name, because };
      if (role === null) leftOut.push(common);
      else suggestions.push({ ...common, role, as: rule.as ?? 'path', unsure: rule.unsure?.(subject) });
    }
  }
  return { suggestions, leftOut };
}

interface Decided {
  readonly subject: Subject;
  readonly rule: RoleRule;
}

/** What one argument is depends on what the others are, so each is looked at once alone and then beside the others. */
function decided(tool: ListedTool, prefix: string | undefined): Decided[] {
  const alone = toolArguments(tool.inputSchema)
    .map((argument) => subjectOf(tool, argument, prefix, []))
    .filter(isPathLike)
    .map((subject) => ({ subject, rule: ruleFor(subject) }));
  return alone.map(({ subject: { argument } }) => {
    const besides = alone
      .filter(({ subject }) => subject.argument.path !== argument.path)
      .flatMap(({ rule }): FileRole[] => (rule.role === null ? [] : [rule.role]));
    const subject = subjectOf(tool, argument, prefix, besides);
    return { subject, rule: ruleFor(subject) };
  });
}

/** The last rule applies always. */
const ruleFor = (subject: Subject): RoleRule => ROLE_RULES.find(({ applies }) => applies(subject)) as RoleRule;
