/**
 * The least that storing a file takes: a stream to a file that is hashed on the way, synced to the disk and renamed; and
 * a stream back. `POST /NAME` and `GET /NAME`, in the folder of the environment variable FOLDER.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';

const folder = process.env['FOLDER'] ?? '.';

async function store(req: IncomingMessage, path: string): Promise<string> {
  const hash = createHash('sha256');
  req.on('data', (chunk: Buffer) => hash.update(chunk));
  await pipeline(req, createWriteStream(`${path}.tmp`, { flush: true }));
  await rename(`${path}.tmp`, path);
  return hash.digest('hex');
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const name = basename(req.url ?? '');
  const path = join(folder, name);
  if (name === 'livez' || name === 'healthz') {
    res.end();
  } else if (req.method === 'POST') {
    res.end(await store(req, path));
  } else {
    res.setHeader('content-length', (await stat(path)).size);
    await pipeline(createReadStream(path), res);
  }
}

createServer((req, res) => {
  answer(req, res).catch(() => res.destroy());
}).listen(Number(process.env['PORT']), '127.0.0.1');
