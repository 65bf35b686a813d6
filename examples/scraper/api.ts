/**
 * A small JSON API to scrape: `node examples/scraper/api.ts`. A shop that gets an order every ten seconds, and always has.
 *
 *   GET /orders?from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z   the orders from the first time until before the second
 *   GET /warehouses                                                 how things are now
 */
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

const EVERY_MS = 10_000;
const MOST = 10_000;
const COUNTRIES = ['FI', 'NG', 'PE', 'JP'];
const WAREHOUSES = ['north', 'south'];

/** The same number gives the same order at any time. */
function order(number: number): object {
  const noise = (number * 7919) % 1009;
  return {
    id: number,
    placed_at: new Date(number * EVERY_MS).toISOString(),
    status: noise % 20 === 0 ? 'rejected' : 'accepted',
    customer: { country: COUNTRIES[noise % COUNTRIES.length] },
    items: 1 + (noise % 5),
    total: 10 + noise / 4,
    packing_seconds: 20 + (noise % 300),
  };
}

/** @throws when the times make no sense */
function orders(query: URLSearchParams): object {
  const [from, to] = ['from', 'to'].map((name) => Date.parse(query.get(name) ?? ''));
  if (from === undefined || to === undefined || !(from <= to)) throw new Error('from and to must be times');
  const first = Math.ceil(from / EVERY_MS);
  const count = Math.min(MOST, Math.max(0, Math.ceil(to / EVERY_MS) - first));
  return { orders: Array.from({ length: count }, (_, index) => order(first + index)) };
}

function warehouses(now: number): object {
  const minutes = now / 60_000;
  return {
    shop: 'demo',
    warehouses: WAREHOUSES.map((name, index) => ({
      name,
      open: true,
      parcels_waiting: Math.round(50 + 40 * Math.sin(minutes / (3 + index))),
    })),
  };
}

const { values } = parseArgs({
  options: { port: { type: 'string', default: '8941' }, host: { type: 'string', default: '127.0.0.1' } },
});

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop');
  const send = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  try {
    if (pathname === '/orders') send(200, orders(searchParams));
    else if (pathname === '/warehouses') send(200, warehouses(Date.now()));
    else send(404, { error: 'there are /orders and /warehouses' });
  } catch (error) {
    send(400, { error: error instanceof Error ? error.message : String(error) });
  }
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
server.listen(Number(values.port), values.host, () => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  console.log(`demo API listening: http://${values.host}:${port}`);
});
