/** Secrets that stand in a resource as they are: whoever may read resources, ConfigMaps or a Git repository has them. */
import { type Problem, dottedPath } from '../../crds/config/load/problem.ts';
import { hasRandomWord } from '../../lib/random-word.ts';
import { hasReference, interpolate } from '../../lib/references/reference.ts';
import { isSecretName, isSecretPath, looksSecret } from '../../lib/redaction/secret-names.ts';
import type { Path } from '../../lib/json/tree.ts';

/**
 * Texts of a document that are secrets: in fields that hold one, in headers and parameters, and in URLs. The problems say
 * where, never what.
 * @param at path of the document, with which those of the problems begin
 */
export function literalSecrets(document: unknown, at: Path): Problem[] {
  const problems: Problem[] = [];
  const visit = (value: unknown, path: Path): void => {
    if (typeof value === 'string') {
      const what = secretIn(value, path.slice(at.length));
      if (what !== undefined) problems.push({ path: dottedPath(path), message: advice(what, path) });
    } else if (Array.isArray(value)) {
      value.forEach((item, index) => visit(item, [...path, index]));
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) visit(item, [...path, key]);
    }
  };
  visit(document, at);
  return problems;
}

/** Stands for what a variable will bring. No configuration of people has it. */
const UNKNOWN = '\u0000';

/** A section whose members are headers. */
const HEADERS = /(^|_)headers$|Headers$/;
/** Sections whose members are parameters of requests, and bodies. */
const PARAMETERS = /^(extraArgs|data)$/;
const SCHEME = /^\s*(basic|bearer|digest|token|apikey|negotiate)\s+\S/i;
/** Characters of a word that is taken for a credential. */
const RANDOM = 20;

/** What is secret in a text, as words; undefined when nothing is. */
function secretIn(written: string, path: Path): string | undefined {
  const text = literally(written);
  if (text.trim() === '') return undefined;
  const [parent = '', name = ''] = path.slice(-2).map(String);
  if (path.length > 1 && HEADERS.test(parent) && typeof path.at(-1) === 'string') {
    return isCredential(name, text) || SCHEME.test(text) || hasRandomWord(text, RANDOM)
      ? known(text, 'is a credential')
      : undefined;
  }
  if (path.slice(0, -1).some((key) => PARAMETERS.test(String(key)))) {
    return isCredential(lastName(path), text) ? known(text, 'is a credential') : undefined;
  }
  // Lists of headers hold names.
  if (HEADERS.test(parent)) return undefined;
  // A body that is one text is a form, JSON or something else.
  if (name === 'data') return inQuery(text) ? 'holds a credential' : undefined;
  if (isSecretPath(path)) return known(text, 'is a secret');
  return inUrl(text) ? 'holds credentials in its URL' : undefined;
}

/** What holds something unknown is not literal. */
const known = (text: string, what: string): string | undefined => (text.includes(UNKNOWN) ? undefined : what);

const lastName = (path: Path): string => path.findLast((key) => typeof key === 'string') ?? '';

/** A name that says so, or one that often does before a value that looks like it. */
const isCredential = (name: string, value: string): boolean =>
  isSecretName(name) || (looksSecret(name) && (hasRandomWord(value, RANDOM) || SCHEME.test(value)));

const URL = /^[a-z][a-z0-9+.-]*:\/\/(?:(?<userinfo>[^/?#]*)@)?/i;

function inUrl(text: string): boolean {
  const isUrl = URL.exec(text.trim());
  const { userinfo } = isUrl?.groups ?? {};
  const [user = '', ...password] = userinfo?.split(':') ?? [];
  const secret = password.length === 0 ? user : password.join(':');
  if (secret !== '' && !secret.includes(UNKNOWN)) return true;
  return (isUrl !== null || text.startsWith('/')) && inQuery(text.slice(text.indexOf('?') + 1 || text.length));
}

const inQuery = (query: string): boolean =>
  query.split(/[&#]/).some((pair) => {
    const equals = pair.indexOf('=');
    const value = pair.slice(equals + 1);
    return equals > 0 && value !== '' && !value.includes(UNKNOWN) && isCredential(pair.slice(0, equals), value);
  });

/** A default is written out as well. */
function literally(written: string): string {
  if (!hasReference(written)) return written;
  const unset = Object.fromEntries(interpolate(written, {}).unset.map((name) => [name, UNKNOWN]));
  return interpolate(written, unset).text;
}

function advice(what: string, path: Path): string {
  const name = variableFor(path);
  return (
    `${what} and has no place in this resource: put it into a Secret, name that in spec.env as ${name}, and write ` +
    `\${${name}} for it here`
  );
}

/** `['static_headers', 'X-Api-Key']` → `X_API_KEY`. */
function variableFor(path: Path): string {
  const name = lastName(path)
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll(/\W+/g, '_')
    .toUpperCase();
  return /^[A-Z_]/.test(name) ? name : `SECRET_${name}`;
}
