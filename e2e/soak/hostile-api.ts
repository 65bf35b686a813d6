import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { singleBytes } from './hostile-upstream.ts';

const MIB = 1 << 20;
/** 57 MiB of empty objects, as 58 KB. */
const BOMB = gzipSync(`[${'{},'.repeat(20_000_000)}{}]`);

const json = { 'content-type': 'application/json' };

const PAGE = JSON.stringify([{ text: 'x'.repeat(7 * MIB) }]);

let pages = 0;
let labels = 0;
const labelled = (count: number): string =>
  JSON.stringify(Array.from({ length: count }, () => ({ n: 1, label: `${(labels += 1)}${'x'.repeat(64 * 1024)}` })));

/** A byte now and then, for as long as somebody reads. */
function drip(reply: ServerResponse): void {
  reply.writeHead(200, json).write('[');
  const timer = setInterval(() => reply.write(' '), 500);
  reply.once('close', () => clearInterval(timer));
}

/** What a hostile API answers at this path; each is a source of the scraper. */
export const HOSTILE_PAGES: Readonly<Record<string, (reply: ServerResponse) => void>> = {
  bomb: (reply) => void reply.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(BOMB),
  deep: (reply) => void reply.writeHead(200, json).end('['.repeat(24 * MIB)),
  wide: (reply) => void reply.writeHead(200, json).end(`[${'0,'.repeat(8 * MIB)}0]`),
  large: (reply) => void reply.writeHead(200, json).end(JSON.stringify([{ text: 'x'.repeat(7 * MIB) }])),
  /** Of each second's labels, nothing is the same. */
  labels: (reply) => void reply.writeHead(200, json).end(labelled(24)),
  /** Each page leads to the next. */
  pages: (reply) => void reply.writeHead(200, { ...json, link: `</pages?${(pages += 1)}>; rel="next"` }).end(PAGE),
  ...Object.fromEntries(Array.from({ length: 12 }, (_, count) => [`drip-${count}`, drip])),
  crumbs: (reply) => void singleBytes(reply, 'application/json', 4 * MIB),
  half: (reply) => void reply.writeHead(200, { ...json, 'content-length': '1000' }).write('['),
  silent: () => undefined,
};
