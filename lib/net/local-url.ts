/** The URL by which this machine reaches what listens there; an address that stands for all becomes the loopback one. */
export function localUrl(host: string, port: number): string {
  if (!host.includes(':')) return `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`;
  // Of the many ways to write an IPv6 address, URL chooses one; those with a zone are no part of a URL.
  const url = `http://[${host.replace(/%.*$/, '')}]`;
  const name = URL.canParse(url) ? new URL(url).hostname : `[${host}]`;
  return `http://${name === '[::]' ? '[::1]' : name}:${port}`;
}
