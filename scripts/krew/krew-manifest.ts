export interface KrewRelease {
  /** As krew writes versions: `v1.2.3`. */
  readonly version: string;
  /** Of the archive. */
  readonly uri: string;
  /** Of the archive, in hexadecimal. */
  readonly sha256: string;
  readonly homepage: string;
}

/** The manifest of a release from its template. Throws where something is missing in one of the two. */
export function krewManifest(template: string, release: KrewRelease): string {
  for (const address of [release.uri, release.homepage]) {
    if (!address.startsWith('https://') || !URL.canParse(address)) throw new Error(`${address} is no https address`);
  }
  let text = template;
  for (const [name, value] of Object.entries(release)) {
    const place = `: \${${name.toUpperCase()}}\n`;
    if (!text.includes(place)) throw new Error(`the template has no place for ${name}`);
    text = text.replace(place, () => `: ${JSON.stringify(value)}\n`);
  }
  const left = /: \$\{\w+\}$/m.exec(text);
  if (left !== null) throw new Error(`nothing fills in${left[0].slice(1)}`);
  // What is said of the template is not true of the manifest.
  return text.replace(/^(?:#.*\n)+/, '');
}
