import { isObject } from '../../lib/json/json-object.ts';
import type { ToolResult } from './locate-output.ts';

/** A result (JSON text); undefined when it is an error, or not the result of a tool that has ended. */
export function successfulResult(text: string): ToolResult | undefined {
  let result: unknown;
  try {
    result = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(result)) return undefined;
  const { isError, resultType = 'complete' } = result;
  return isError === true || resultType !== 'complete' ? undefined : result;
}
