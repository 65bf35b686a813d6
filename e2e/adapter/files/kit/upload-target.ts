import { createServer, type IncomingMessage } from 'node:http';
import { listen } from '../../../support/ports.ts';

const HTML = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <link rel="icon" href="data:,">
  <title>Hand in</title>
  <h1>Hand in</h1>
  <label>File <input type="file"></label>
  <p role="status">nothing yet</p>
  <script>
    document.querySelector('input').addEventListener('change', async ({ target }) => {
      for (const file of target.files) await fetch('/received/' + file.name, { method: 'POST', body: file });
      document.querySelector('p').textContent = 'thank you';
    });
  </script>
</html>`;

/** A page of somebody else, where a browser can hand in files. */
export interface UploadTarget extends AsyncDisposable {
  readonly url: string;
  /** The bytes of the file of this name, once a browser has handed it in. */
  received(name: string): Promise<Buffer>;
}

/** `host` is what it listens on and what stands in its URL. */
export async function startUploadTarget(host = '127.0.0.1'): Promise<UploadTarget> {
  const files = new Map<string, PromiseWithResolvers<Buffer>>();
  const entry = (name: string): PromiseWithResolvers<Buffer> => {
    const known = files.get(name) ?? Promise.withResolvers<Buffer>();
    files.set(name, known);
    return known;
  };
  const server = createServer((req, res) => {
    if (req.method !== 'POST') {
      res.writeHead(200, { 'content-type': 'text/html' }).end(HTML);
      return;
    }
    const name = decodeURIComponent((req.url ?? '').replace('/received/', ''));
    bodyOf(req).then(
      (body) => {
        entry(name).resolve(body);
        res.writeHead(200, { 'content-type': 'text/plain' }).end(`received ${body.length}`);
      },
      () => res.destroy(),
    );
  });
  const port = await listen(server, 0, host);
  return {
    url: `http://${host}:${port}/`,
    received: (name) => entry(name).promise,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function bodyOf(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
