import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

const MIB = 1 << 20;
/** 57 MiB of empty objects, as 58 KB. */
const BOMB = gzipSync(`[${'{},'.repeat(20_000_000)}{}]`);

const json = { 'content-type': 'application/json' };

/** What a hostile API answers at this path; each is a source of the scraper. */
export const HOSTILE_PAGES: Readonly<Record<string, (reply: ServerResponse) => void>> = {
  bomb: (reply) => void reply.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(BOMB),
  deep: (reply) => void reply.writeHead(200, json).end('['.repeat(24 * MIB)),
  wide: (reply) => void reply.writeHead(200, json).end(`[${'0,'.repeat(8 * MIB)}0]`),
  large: (reply) => void reply.writeHead(200, json).end(JSON.stringify([{ text: 'x'.repeat(7 * MIB) }])),
  half: (reply) => void reply.writeHead(200, { ...json, 'content-length': '1000' }).write('['),
  silent: () => undefined,
};
