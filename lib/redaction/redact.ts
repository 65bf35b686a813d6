import { type HiddenPlace, withPlaceholders } from './hidden-places.ts';
import { secretForms } from './secret-forms.ts';
import { isSecretName, REDACTED, SECRET_PARTS } from './secret-names.ts';

export type Redact = (text: string) => string;

/** What takes secrets out of everything that leaves a program but for the answers of upstreams. */
export interface Redaction {
  /** Without the known secrets, and without what looks like a credential. More than 16 Ki characters are cut off. */
  readonly text: Redact;
  /** The same for all text in a structured value, in which fields with the name of a credential lose their values. */
  readonly value: (value: unknown) => unknown;
  /** The same, with something more that is done to each text. */
  readonly and: (more: Redact) => Redaction;
}

export interface Sensitive {
  /** Found wherever they stand, and in whatever form. */
  readonly secrets?: readonly string[];
  /** Names of headers and fields whose values are not shown, beside those that are always taken for secret. */
  readonly names?: readonly string[];
  /** Hosts that are told as they are written. */
  readonly places?: readonly HiddenPlace[];
}

/** Shorter values occur by chance in ordinary text. */
const MIN_SECRET_CHARS = 4;
/** Clients and upstreams may send text of any length; what is said of it is not to cost more than that. */
const MAX_CHARS = 16_384;
const MAX_DEPTH = 8;
const MAX_NAMES = 1000;

/** Without any of these, none of the patterns below can match. */
const SUSPICIOUS = /[:=\s]|eyJ/;
const SCHEME = /\b(Bearer|Basic)\s{1,8}[A-Za-z0-9._~+/=-]{4,}/gi;
/** Behind what a word begins with. Only a word that goes on as a token does is looked into, so that each is read once. */
const JWT = /(?<![\w-])(?=[\w-]+\.[\w-]{6,}\.)([\w-]*?\b)eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g;
const URL_CREDENTIALS = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@:]*:[^\s/@]*@/gi;
/** Between a name and its value, also in JSON, and in JSON that is text in JSON. */
const BETWEEN = String.raw`\\{0,3}["']?\s{0,8}[=:]\s{0,8}\\{0,3}["']?`;
/** A backslash is a part of it unless it belongs to the quote behind it. */
const ONE_WORD = String.raw`(?:[^\s"',;&}\\]|\\(?!["']))+`;
const ASSIGNMENT = new RegExp(
  `((?:${SECRET_PARTS.join('|')}|mcp_(?:upload|artifact)_sig)[\\w-]{0,64}${BETWEEN})(?!<redacted>)${ONE_WORD}`,
  'gi',
);
/** These have values of several words: `Token abc`, `a=b; c=d`. */
const ALL_WORDS = new RegExp(`((?:authorization|cookie)${BETWEEN})([^\\r\\n"'\\\\]+)`, 'gi');

/** A session id, or one that was cut off at the end of a text. */
const ID = /([0-9a-f]{8})(?:[0-9a-f]{24,}|[0-9a-f]+(?=…$))/gi;
const ID_CHARS = 32;

export function createRedaction({ secrets = [], names = [], places = [] }: Sensitive = {}): Redaction {
  const known = secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS).flatMap(secretForms);
  // Longest first: one secret may be the beginning of another.
  const literal = [...new Set(known)].sort((a, b) => b.length - a.length);
  const ofNames = assignmentTo(names);
  const placed = withPlaceholders(places);
  const text: Redact = (given) => {
    let out = placed(given);
    for (const secret of literal) {
      // Most texts are short.
      if (secret.length <= out.length && out.includes(secret)) out = out.replaceAll(secret, REDACTED);
    }
    // After the literal ones, of which half must not be left at the cut.
    if (out.length > MAX_CHARS) out = `${out.slice(0, MAX_CHARS)}…`;
    if (!SUSPICIOUS.test(out)) return out;
    out = withoutCredentials(out)
      .replace(ALL_WORDS, (all, name: string, words: string) => (words === REDACTED ? all : name + REDACTED))
      .replace(ASSIGNMENT, (_all, name: string) => name + REDACTED);
    return ofNames === undefined ? out : out.replace(ofNames, (_all, name: string) => name + REDACTED);
  };
  return redactionBy(text, new Set(names.map(asHeader)));
}

function redactionBy(text: Redact, names: ReadonlySet<string>): Redaction {
  const rules = { text, nameOf: fieldNames(names, text) };
  return {
    text,
    value: (value) => valueWithout(value, rules, 0),
    and: (more) => redactionBy((given) => more(text(given)), names),
  };
}

/** Text without what looks like a credential by itself, whatever stands before it. */
export const withoutCredentials: Redact = (text) =>
  withoutTokens(text)
    .replace(SCHEME, (_all, scheme: string) => `${scheme} ${REDACTED}`)
    .replace(URL_CREDENTIALS, (_all, scheme: string) => `${scheme}${REDACTED}@`);

const withoutTokens: Redact = (text) => (text.includes('eyJ') ? text.replace(JWT, `$1${REDACTED}`) : text);

/**
 * Leaves of each id as much as is needed to follow it: where authentication is off, who knows the id of a session has
 * the session. Ids of files and hashes look like it; nobody needs the whole of them either.
 */
export const maskIds: Redact = (text) =>
  text.length < ID_CHARS && !text.endsWith('…') ? text : text.replace(ID, '$1…');

/** Undefined when there are no names. A name counts only as a whole, because it may be any word. */
function assignmentTo(names: readonly string[]): RegExp | undefined {
  if (names.length === 0) return undefined;
  const any = names.map((name) => name.replaceAll(/[^\w-]/g, String.raw`\$&`)).join('|');
  return new RegExp(`(?<![\\w-])((?:${any})${BETWEEN})(?!<redacted>)${ONE_WORD}`, 'gi');
}

interface FieldName {
  readonly isSecret: boolean;
  /** The name without secrets, of which it may be one. */
  readonly shown: string;
}

/** Names of fields are few and come again with every line. */
function fieldNames(configured: ReadonlySet<string>, text: Redact): (name: string) => FieldName {
  const known = new Map<string, FieldName>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const made = { isSecret: isSecretName(name) || configured.has(asHeader(name)), shown: text(name) };
    if (known.size < MAX_NAMES) known.set(name, made);
    return made;
  };
}

/** Headers become fields with underscores. */
const asHeader = (name: string): string => name.toLowerCase().replaceAll('_', '-');

interface Rules {
  readonly text: Redact;
  readonly nameOf: (name: string) => FieldName;
}

function valueWithout(value: unknown, rules: Rules, depth: number): unknown {
  if (typeof value === 'string') return rules.text(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => valueWithout(item, rules, depth + 1));
  if (value instanceof Error) return errorWithout(value, rules, depth);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const { isSecret, shown } = rules.nameOf(name);
      const isHidden = isSecret && inner !== null && inner !== undefined;
      return [shown, isHidden ? REDACTED : valueWithout(inner, rules, depth + 1)];
    }),
  );
}

function errorWithout(error: Error, rules: Rules, depth: number): Record<string, unknown> {
  const { code } = error as NodeJS.ErrnoException;
  return {
    type: error.name,
    message: rules.text(error.message),
    ...(code === undefined ? {} : { code }),
    ...(error.stack === undefined ? {} : { stack: rules.text(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: valueWithout(error.cause, rules, depth + 1) }),
  };
}
