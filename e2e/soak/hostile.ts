/** A process that attacks: a hostile upstream, a hostile API, and clients that start when they are told the target. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { listen } from '../support/ports.ts';
import { type AttackRun, ATTACKS, type Target } from './attacks.ts';
import { HOSTILE_PAGES } from './hostile-api.ts';
import { answerHostileSse, openHostileStream } from './hostile-sse.ts';
import { answerHostile } from './hostile-upstream.ts';

const PAUSE_MS = 250;
/** Attackers at one time, each at another place of the list. */
const ATTACKERS = 3;

/** Every attack, in milliseconds since 1970. */
const runs: AttackRun[] = [];

async function attack(target: Target, first: number): Promise<never> {
  const attacks = Object.entries(ATTACKS);
  for (let next = first; ; next++) {
    const [name, run] = attacks[next % attacks.length] ?? ['', () => Promise.resolve()];
    const from = Date.now();
    await run(target).catch(() => undefined);
    runs.push({ name, from, until: Date.now() });
    await delay(PAUSE_MS);
  }
}

/** Until attacks begin, its pages are as small as others. */
let hasBegun = false;

const server = createServer((request, reply) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  reply.on('error', () => undefined);
  if (pathname === '/begin') {
    hasBegun = true;
    const [url = '', mount = '', sseMount = '', scraper = ''] = ['url', 'mount', 'sseMount', 'scraper'].map(
      (name) => searchParams.get(name) ?? '',
    );
    const target = { url, mount, sseMount, scraper };
    const apart = Math.ceil(Object.keys(ATTACKS).length / ATTACKERS);
    for (let i = 0; i < ATTACKERS; i++) void attack(target, i * apart);
    reply.end();
  } else if (pathname === '/runs') {
    reply.end(JSON.stringify(runs));
  } else if (pathname === '/sse') {
    openHostileStream(reply);
  } else if (pathname === '/sse-post') {
    text(request)
      .then((body) => answerHostileSse(body, searchParams.get('session') ?? '', reply))
      .catch(() => reply.destroy());
  } else if (pathname === '/mcp' && request.method !== 'POST') {
    reply.writeHead(request.method === 'DELETE' ? 200 : 405).end();
  } else if (pathname === '/mcp') {
    text(request)
      .then((body) => (request.method === 'POST' ? answerHostile(body, reply) : void reply.writeHead(405).end()))
      .catch(() => reply.destroy());
  } else if (!hasBegun) {
    reply.writeHead(200, { 'content-type': 'application/json' }).end('[]');
  } else {
    HOSTILE_PAGES[pathname.slice(1)]?.(reply);
  }
});
console.log(`hostile at http://127.0.0.1:${await listen(server)}/`);
