import { REDACTED } from './secret-names.ts';

/**
 * What takes secrets out of texts. Each text is read once, however many secrets there are: a thousand sources have
 * thousands, and every line of the log is searched. Where secrets overlap, all that they cover goes.
 *
 * @param minChars shorter secrets are left in, because they occur by chance in ordinary text
 */
export function createScrubber(secrets: Iterable<string>, minChars: number): (text: string) => string {
  const longEnough = [...new Set(secrets)].filter((secret) => secret.length >= minChars);
  const byStart = Map.groupBy(
    longEnough.sort((a, b) => b.length - a.length),
    (secret) => secret.slice(0, minChars),
  );
  if (byStart.size === 0) return (text) => text;
  return (text) => {
    let clean = '';
    /** Up to where the text is in `clean`, or covered by a secret. */
    let done = 0;
    let isCovered = false;
    for (let at = 0; at + minChars <= text.length; at += 1) {
      const longest = byStart.get(text.slice(at, at + minChars))?.find((secret) => text.startsWith(secret, at));
      if (longest === undefined) continue;
      if (!isCovered || at >= done) clean += text.slice(done, at) + REDACTED;
      isCovered = true;
      done = Math.max(done, at + longest.length);
    }
    return isCovered ? clean + text.slice(done) : text;
  };
}
