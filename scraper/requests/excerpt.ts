import { withoutCredentials } from '../../lib/redaction/redact.ts';
import { secretForms as commonForms } from '../../lib/redaction/secret-forms.ts';
import { REDACTED } from '../../lib/redaction/secret-names.ts';
import { asUrl, formEncoded } from './query.ts';

const LONGEST = 200;
/** White space counts for little, and looking for credentials takes time. */
const MOST = 16_384;
/** Shorter values occur by chance in ordinary text. */
const MIN_SECRET_CHARS = 4;
/** So many letters and digits in a row are no word, and tell a secret in whatever form it is repeated. */
const TELLING = /[A-Za-z0-9]{16,}/g;

/**
 * The beginning of an answer, for an error message: on one line, at most 200 characters, and without these secrets in
 * any of the forms in which an answer repeats what it was sent, or anything else that looks like a credential.
 *
 * @param isWhole whether the text is the whole answer, and cannot end in the middle of a secret
 */
export function excerpt(text: string, secrets: readonly string[], isWhole: boolean): string {
  const forms = secrets
    .filter((secret) => secret.length >= MIN_SECRET_CHARS)
    .flatMap(secretForms)
    .toSorted((a, b) => b.length - a.length);
  const clean = forms.reduce((shown, form) => shown.replaceAll(form, REDACTED), text);
  const certain = isWhole ? clean : clean.slice(0, Math.max(0, clean.length - (forms[0]?.length ?? 0)));
  const line = withoutCredentials(certain.slice(0, MOST))
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim();
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST)}…`;
}

/** A secret in all forms in which an answer may repeat it. */
export function secretForms(secret: string): string[] {
  const forms = [...commonForms(secret), formEncoded(secret), asUrl(secret), ...(secret.match(TELLING) ?? [])];
  return [...new Set(forms)];
}
