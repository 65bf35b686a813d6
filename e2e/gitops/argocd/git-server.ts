/**
 * Serves the bare repositories of a folder for reading and writing, on loopback: `node git-server.ts FOLDER PORT`.
 * git http-backend speaks CGI; this is the web server around it.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';

const [folder = '.', port = '0'] = process.argv.slice(2);
const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
const END_OF_HEADERS = '\r\n\r\n';

createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const cgi = spawn(backend, {
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      ...headerVariables(request),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  request.pipe(cgi.stdin);
  let pending: Buffer | undefined = Buffer.alloc(0);
  cgi.stdout.on('data', (chunk: Buffer) => {
    if (pending === undefined) {
      response.write(chunk);
      return;
    }
    pending = Buffer.concat([pending, chunk]);
    const end = pending.indexOf(END_OF_HEADERS);
    if (end === -1) return;
    writeHead(response, pending.toString('latin1', 0, end));
    response.write(pending.subarray(end + END_OF_HEADERS.length));
    pending = undefined;
  });
  cgi.on('close', () => response.end());
}).listen(Number(port), '127.0.0.1', () => console.log(`git on ${port}`));

function headerVariables({ headers }: IncomingMessage): NodeJS.ProcessEnv {
  return {
    CONTENT_TYPE: headers['content-type'] ?? '',
    HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
    GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
  };
}

/** CGI gives the status as a header. */
function writeHead(response: ServerResponse, text: string): void {
  const headers = Object.fromEntries(text.split('\r\n').map((line) => line.split(/:\s*/, 2) as [string, string]));
  response.writeHead(Number.parseInt(headers['Status'] ?? '200', 10), headers);
}
