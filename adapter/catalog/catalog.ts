import { elements, locate, splice } from '../exchange/json-scan.ts';
import { isResponseTo } from '../exchange/message.ts';
import type { DisabledTools } from './disabled-tools.ts';

/**
 * The tools that a client sees. Takes and returns the JSON text of a tools/list result; whatever is not removed
 * stays byte for byte as the upstream wrote it.
 */
export function visibleTools(result: string, disabled: DisabledTools): string {
  if (!disabled.any) return result;
  const tools = locate(result, ['tools']);
  if (tools === undefined || result.charAt(tools.start) !== '[') return result;
  const kept: string[] = [];
  let removed = false;
  for (const span of elements(result, tools.start)) {
    const name = locate(result, ['name'], span.start);
    const text = name === undefined ? undefined : result.slice(name.start, name.end);
    if (text?.startsWith('"') && disabled.matches(JSON.parse(text) as string)) removed = true;
    else kept.push(result.slice(span.start, span.end));
  }
  return removed ? splice(result, [{ ...tools, with: `[${kept.join(',')}]` }]) : result;
}

/**
 * The same for the JSON text of a whole answer: a message, or an array of messages, of which only the responses to
 * `idTexts` hold lists of tools (undefined: all of them).
 */
export function withVisibleTools(
  answer: string,
  disabled: DisabledTools,
  idTexts: readonly string[] | undefined,
): string {
  if (!disabled.any) return answer;
  const isArray = answer.trimStart().startsWith('[');
  const messages = isArray ? [...elements(answer)] : [{ start: 0, end: answer.length }];
  const edits = messages.flatMap(({ start, end }) => {
    const listed = idTexts?.some((idText) => isResponseTo(answer.slice(start, end), idText)) ?? true;
    const result = listed ? locate(answer, ['result'], start) : undefined;
    return result === undefined
      ? []
      : [{ ...result, with: visibleTools(answer.slice(result.start, result.end), disabled) }];
  });
  return splice(answer, edits);
}
