/** Floor: fastify's router and body reading in front; answers go straight to the raw response. Environment: PORT, UPSTREAM. */
import Fastify from 'fastify';
import { Relay, exitOnSignal, healthPaths, listenOptions } from './floor.ts';
import { mounts } from './mounts.ts';

const relay = new Relay(process.env.UPSTREAM ?? '');
const app = Fastify({ logger: false, keepAliveTimeout: 600_000 });

app.removeAllContentTypeParsers();
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
for (const path of healthPaths) app.get(path, async () => ({ status: 'ok' }));
for (const [path, upstreamPath] of mounts) {
  app.post<{ Body: Buffer }>(path, (request, reply) => {
    reply.hijack();
    relay.post(upstreamPath, request.headers, request.body, reply.raw);
  });
}

exitOnSignal();
await app.listen(listenOptions(process.env));
