import { ExactNumber } from '../../lib/json/exact-number.ts';
import { readValidJson } from './read-valid-json.ts';

/** What a double would change, wherever such a number can stand. Strings may match too, which only costs time. */
const INEXACT = /(?:^|[:,[\s])-?(?:\d{16,}|\d+\.0+|\d+(?:\.\d+)?[eE][+-]?\d+)(?:$|[,\]}\s])/;
/** Each of them is found several times as quickly as that, and one must be there where that is. */
const SUSPECTS = [/\d{16}/, /\d\.0+(?:$|[,\]}\s])/, /\d[eE][+-]?\d/];
const CONSTANT = /NaN|Infinity/;
const STRING_OR_CONSTANT = /"[^"\\]*(?:\\.[^"\\]*)*"|NaN|-?Infinity/g;

/**
 * The value of a JSON text, with Python's constants NaN, Infinity and -Infinity, which APIs written in Python send.
 * With `exact`, numbers that a double would change come as an ExactNumber.
 *
 * JSON.parse decides what is valid. It gives the result too, unless there is something that it would change: then the
 * text is read once more, which takes a quarter of the time of a reviver that sees the text of each number.
 *
 * @throws SyntaxError without any of the text in its message
 */
export function parseJson(text: string, { exact }: { exact: boolean }): unknown {
  try {
    const value = parseStandard(text);
    if (value !== undefined) return exact && isInexact(text) ? readValidJson(text, exactly) : value;
    return readValidJson(text, exact ? exactly : Number);
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxError('The answer is nested too deeply', { cause: error });
    throw error;
  }
}

const isInexact = (text: string): boolean => SUSPECTS.some((suspect) => suspect.test(text)) && INEXACT.test(text);

/** Undefined: valid, but only with Python's constants. */
function parseStandard(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (CONSTANT.test(text) && isJson(withoutConstants(text))) return undefined;
    throw new SyntaxError(`The answer is not JSON${whereOf(error)}`);
  }
}

const withoutConstants = (text: string): string =>
  text.replace(STRING_OR_CONSTANT, (token) => (token.startsWith('"') ? token : 'null'));

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** V8's message quotes the text around the mistake, which may hold secrets; the position does not. */
const whereOf = (error: SyntaxError): string => {
  const position = /at position \d+(?: \(line \d+ column \d+\))?$/.exec(error.message);
  if (position !== null) return `: mistake ${position[0]}`;
  return error.message.startsWith('Unexpected end') ? ': it ends too early' : '';
};

function exactly(source: string): number | ExactNumber {
  const value = Number(source);
  const changed = /[.eE]/.test(source)
    ? Number.isInteger(value)
    : !Number.isSafeInteger(value) && !isConstant(value, source);
  return changed ? new ExactNumber(source) : value;
}

/** An integer of more than 308 digits is infinite as a double, but not meant so. */
const isConstant = (value: number, source: string): boolean => Number.isNaN(value) || source.endsWith('y');
