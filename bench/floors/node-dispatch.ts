/** Floor: node:http in front, no framework. Environment: PORT, UPSTREAM (an origin). */
import { createServer } from 'node:http';
import { Relay, exitOnSignal, healthPaths, listenOptions } from './floor.ts';
import { mounts } from './mounts.ts';

const relay = new Relay(process.env.UPSTREAM ?? '');

const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
  const path = request.url ?? '';
  if (healthPaths.includes(path)) {
    response.writeHead(200).end('{"status":"ok"}');
    return;
  }
  const upstreamPath = mounts.get(path);
  if (upstreamPath === undefined || request.method !== 'POST') {
    response.writeHead(upstreamPath === undefined ? 404 : 405).end();
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    relay.post(upstreamPath, request.headers, body, response);
  });
});

exitOnSignal();
server.listen(listenOptions(process.env));
