/**
 * A URI as it stands there, and as servers may read it: without what URL parsers take out, decoded, and both, whichever
 * they do first. Each once.
 */
export function uriReadings(uri: string): readonly string[] {
  return [...new Set([uri, decoded(uri), plain(uri), plain(decoded(uri)), parsedFirst(uri)])];
}

/**
 * What some servers take for the same as a URI, though it could be something else: those that look at the path only, or
 * at what is left when a URL parser has filled in and left out what it knows. Each once.
 */
export function uriAliases(uri: string): readonly string[] {
  const aliases = new Set<string>();
  for (const one of [uri, canonical(uri)]) {
    const place = one.split('#', 1)[0] ?? '';
    for (const cut of [one, place, place.split('?', 1)[0] ?? '']) {
      const alias = parsedFirst(cut);
      aliases.add(alias).add(alias.endsWith('/') ? alias.slice(0, -1) : `${alias}/`);
    }
  }
  return [...aliases];
}

interface Parts {
  /** Scheme, and where there is one the host. */
  readonly head: string;
  readonly path: string;
  /** Query and fragment. */
  readonly rest: string;
}

/** As URL parsers see it: they leave out line ends and tabs, and what is no character before and behind. */
function partsOf(uri: string): Parts {
  const text = trimmed(uri.replaceAll(/[\t\n\r]/g, ''));
  const [, head = '', path = '', rest = ''] = /^([^/?#:]*:(?:[/\\]{2}[^/\\?#]*)?)?([^?#]*)(.*)$/s.exec(text) ?? [];
  return { head: head.replaceAll('\\', '/').toLowerCase(), path, rest };
}

/** Scheme and host in lower case; the path without `.`, `..`, empty names and what parsers skip. */
function plain(uri: string): string {
  const { head, path, rest } = partsOf(uri);
  return head + resolved(path) + rest;
}

/** As `plain`, and then decoded part by part: what was encoded no longer ends a path, and is a path to who opens it. */
function parsedFirst(uri: string): string {
  const { head, path, rest } = partsOf(uri);
  return decoded(head).toLowerCase() + resolved(decoded(resolved(path))) + decoded(rest);
}

function resolved(path: string): string {
  const parts = path.replaceAll('\\', '/').split('/');
  const least = parts[0] === '' ? 1 : 0;
  const out: string[] = [];
  for (const [index, part] of parts.entries()) {
    const isEdge = index === 0 || index === parts.length - 1;
    if (/^(?:\.|%2e){2}$/i.test(part)) {
      if (out.length > least) out.pop();
    } else if (!/^(?:\.|%2e)$/i.test(part) && (part !== '' || isEdge)) out.push(part);
  }
  return out.join('/');
}

/** Bytes that are no text do not keep the others from being read. */
function decoded(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}

/** As a URL parser writes it, for nobody in particular: `file://localhost/a`, `http://a@b:80/` have shorter names. */
function canonical(uri: string): string {
  const url = URL.parse(uri);
  if (url === null) return uri;
  url.username = '';
  url.password = '';
  return url.href;
}

/** Without controls and spaces before and behind; no pattern, which would take quadratic time. */
function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && text.charCodeAt(start) <= 0x20) start += 1;
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end -= 1;
  return text.slice(start, end);
}
