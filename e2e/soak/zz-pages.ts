import { createServer } from 'node:http';
import { HOSTILE_PAGES } from './hostile-api.ts';
import { listen } from '../support/ports.ts';
const server = createServer((request, reply) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  reply.on('error', () => undefined);
  if (pathname === '/good') return void reply.writeHead(200, { 'content-type': 'application/json' }).end('[{"n":1}]');
  HOSTILE_PAGES[pathname.slice(1)]?.(reply);
});
console.log('pages at', await listen(server));
