/** Where the floors and the measured adapter mount the upstream's endpoints. */
export const mounts: ReadonlyMap<string, string> = new Map([
  ['/mcp/main', '/mcp'],
  ['/mcp/catalog', '/mcp200'],
  ['/mcp/events', '/mcp-sse'],
  ['/mcp/huge', '/mcp-huge'],
]);

export type Mount = 'main' | 'catalog' | 'events' | 'huge';
