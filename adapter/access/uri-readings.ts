/** A URI as it stands there, and as servers may read it: without what URL parsers take out, decoded, both. Each once. */
export function uriReadings(uri: string): readonly string[] {
  return [...new Set([uri, plain(uri), plain(decoded(uri))])];
}

/** Scheme and host in lower case; the path without `.`, `..`, empty names and what parsers skip. */
function plain(uri: string): string {
  const text = uri.replaceAll(/[\t\n\r]/g, '');
  const [, head = '', path = '', rest = ''] = /^([^/?#:]*:(?:[/\\]{2}[^/\\?#]*)?)?([^?#]*)(.*)$/s.exec(text) ?? [];
  const parts = path.replaceAll('\\', '/').split('/');
  const least = parts[0] === '' ? 1 : 0;
  const out: string[] = [];
  for (const [index, part] of parts.entries()) {
    const isEdge = index === 0 || index === parts.length - 1;
    if (part === '..') {
      if (out.length > least) out.pop();
    } else if (part !== '.' && (part !== '' || isEdge)) out.push(part);
  }
  return `${head.replaceAll('\\', '/').toLowerCase()}${out.join('/')}${rest}`;
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}
