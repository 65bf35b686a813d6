/** One link: `<target>` and its parameters up to the comma that ends it (RFC 8288, 3). */
const LINK = /<([^>]*)>((?:\s*;\s*[^\s=;,]+\s*(?:=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,]*))?)*)/g;
const PARAMETER = /;\s*([^\s=;,]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,]*)))?/g;

/** The target of the first link that is `rel="next"` in a header `Link`. */
export function nextLink(header: string | string[] | undefined): string | undefined {
  for (const [, target = '', parameters = ''] of [header ?? []].flat().join(', ').matchAll(LINK)) {
    // Only the first `rel` counts.
    const rel = [...parameters.matchAll(PARAMETER)].find(([, name]) => name?.toLowerCase() === 'rel');
    const kinds = (rel?.[2] ?? rel?.[3] ?? '').toLowerCase().split(/\s+/);
    if (kinds.includes('next')) return target.trim();
  }
  return undefined;
}
