import { createServer } from 'node:http';
import { listen } from '../../support/ports.ts';

const HTML = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <link rel="icon" href="data:,">
  <title>Greeter</title>
  <h1>Greeter</h1>
  <label>Name <input></label>
  <select aria-label="Greeting"><option>Hello</option><option>Guten Tag</option></select>
  <button>Greet</button>
  <p role="status"></p>
  <script>
    const find = (selector) => document.querySelector(selector);
    find('button').addEventListener('click', () => {
      find('p').textContent = find('select').value + ', ' + find('input').value + '!';
      console.log('greeted', find('input').value);
    });
  </script>
</html>`;

export interface TestPage extends AsyncDisposable {
  readonly url: string;
}

/** A page with a form, for browsers. It asks for nothing else. */
export async function startTestPage(): Promise<TestPage> {
  const server = createServer((_req, res) => void res.writeHead(200, { 'content-type': 'text/html' }).end(HTML));
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
