import { asObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { execute } from '../../code-mode/kit/code.ts';
import { artifactOf, at } from '../../files/kit/artifacts.ts';
import { formFile, upload, uploadTo } from '../../files/kit/uploads.ts';
import { type Door, drain, initialize, openSession } from '../../kit/session.ts';
import { until } from './until.ts';
import { AUTHORIZED, LONG_CHARS, type Watched } from './watched.ts';

const headers = AUTHORIZED;
export const FILE_BYTES = 1_000;

/** Does once what clients can do, well and badly: what `COUNTS` holds the numbers of. */
export async function traffic(watched: Watched): Promise<void> {
  const { adapter } = watched;
  const session = await openSession(adapter, { headers });
  const door = session.at(adapter);
  await calls(watched, door);
  await files(watched, session.sessionId, door);
  await changedTools(watched);
  const hurried = await openSession(adapter, { headers, path: '/mcp/hurried' });
  await hurried.at(adapter).call('tools/list');
  await hurried.at(adapter).tool('slow', { key: 'never' });
  await drain(hurried.at(adapter).request('tools/call', { name: 'slow', arguments: {} }));
  const code = await openSession(adapter, { headers, path: '/mcp/code' });
  // Names count only once the upstream has listed them.
  await code.at(adapter).tool('code_search', { query: 'echo' });
  // What it returns is too long.
  const source = `await call_tool("echo", { by: "code" }); return "x".repeat(${LONG_CHARS});`;
  await execute(code.at(adapter), source, 'code');
  const newer = await openSession(adapter, { headers, path: '/mcp/newer' });
  await newer.at(adapter).tool('plain');
  await refusals(watched);
  await drain(door.end());
}

async function calls({ upstream }: Watched, door: Door): Promise<void> {
  await door.call('tools/list');
  for (let i = 0; i < 3; i += 1) await door.tool('echo', { i });
  await door.tool('fails');
  await door.tool('odd');
  await door.tool('no-such-tool');
  // While it runs there is no place for another.
  const slow = door.tool('slow', { key: 'long' });
  await until('the slow call', () => upstream.requestsOf('tools/call').some(({ text }) => text.includes('long')));
  await drain(door.request('tools/call', { name: 'echo', arguments: {} }));
  upstream.release('long');
  await slow;
}

async function files({ adapter }: Watched, sessionId: string, door: Door): Promise<void> {
  await drain(upload(adapter, sessionId, [formFile('a', FILE_BYTES), formFile('b', FILE_BYTES)], { headers }));
  await drain(upload(adapter, sessionId, [], { headers }));
  await drain(upload(adapter, sessionId, [formFile('c')], { headers, server: 'nobody' }));
  const { result } = await door.tool('up_get_upload_url');
  const url = String(asObject(asObject(result).structuredContent).upload_url);
  await drain(
    uploadTo(
      url.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      [formFile('d', FILE_BYTES)],
    ),
  );
  await drain(uploadTo(url, [formFile('d', FILE_BYTES)]));
  await drain(uploadTo(url, [formFile('d', FILE_BYTES)]));

  const artifact = artifactOf(await door.tool('embed'));
  // The session has as many as it may have.
  await door.tool('embed');
  const signed = at(adapter, artifact.downloadUrl);
  await drain(fetch(signed));
  const own = { ...headers, 'mcp-session-id': sessionId };
  await drain(fetch(signed.split('?')[0] ?? '', { headers: own }));
  await drain(fetch(`${adapter.url}/artifacts/up/${sessionId}/${'0'.repeat(32)}/x`, { headers: own }));
}

/** A session whose tools change after it has seen them. */
async function changedTools({ adapter, upstream }: Watched): Promise<void> {
  const door = (await openSession(adapter, { headers })).at(adapter);
  await door.call('tools/list');
  const echo = upstream.tools.get('echo');
  if (echo !== undefined) echo.definition = { ...echo.definition, description: 'Says something else' };
  await door.call('tools/list');
}

async function refusals({ adapter }: Watched): Promise<void> {
  await drain(fetch(`${adapter.url}/mcp/up`, { method: 'POST', body: '{}' }));
  await drain(fetch(`${adapter.url}/no-such-path`, { headers }));
  const down = { headers, path: '/mcp/down' };
  await until('an open breaker', async () => (await drain(initialize(adapter, down))) === 503);
}
