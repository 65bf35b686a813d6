import { type RawUpstream, startRawUpstream } from '../../../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';

const MODERN = '2026-07-28';
export const EXTENSION = 'io.modelcontextprotocol/tasks';
const TTL_MS = 60_000;

/** A call that runs as a task. Its work is done by the test. */
export interface ServedTask {
  /** As the tool got them. */
  readonly args: JsonObject;
  status: 'working' | 'completed' | 'failed' | 'cancelled';
  /** What the tool says in the end, and of its work meanwhile. */
  said: string;
  isError: boolean;
}

export interface TaskServer extends AsyncDisposable {
  readonly url: string;
  readonly tasks: Map<string, ServedTask>;
}

/** A server whose calls are all tasks, which end when a test says so; it gives any task to who knows its id. */
export async function startTaskServer(tools: readonly string[]): Promise<TaskServer> {
  const tasks = new Map<string, ServedTask>();
  const upstream: RawUpstream = await startRawUpstream(({ method: verb, json, headers }, res) => {
    const { id, method, params } = asObject(json);
    if (verb !== 'POST' || id === undefined) return void res.writeHead(verb === 'POST' ? 202 : 405).end();
    const speaksNewest = headers['mcp-protocol-version'] === MODERN;
    const result = answered(tasks, tools, String(method), asObject(params), speaksNewest);
    res.writeHead(200, { 'content-type': 'application/json' });
    return void res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  return { url: `${upstream.url}/mcp`, tasks, [Symbol.asyncDispose]: () => upstream.close() };
}

function answered(
  tasks: Map<string, ServedTask>,
  tools: readonly string[],
  method: string,
  params: JsonObject,
  speaksNewest: boolean,
): JsonObject {
  const taskId = String(params['taskId']);
  const task = tasks.get(taskId);
  const capabilities = speaksNewest
    ? { tools: {}, extensions: { [EXTENSION]: {} } }
    : { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const serverInfo = { name: 'tasks', version: '1' };
  const result = { content: [{ type: 'text', text: task?.said }], ...(task?.isError === true && { isError: true }) };
  const about = { taskId, status: task?.status, statusMessage: `At ${task?.said}` };
  switch (method) {
    case 'initialize':
      return { protocolVersion: '2025-11-25', capabilities, serverInfo };
    case 'server/discover':
      return { supportedVersions: [MODERN], capabilities, serverInfo, resultType: 'complete' };
    case 'tools/list':
      return {
        tools: tools.map((name) => ({
          name,
          inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
        })),
        resultType: 'complete',
      };
    case 'tools/call': {
      const id = `task-${tasks.size}`;
      const args = asObject(params['arguments']);
      tasks.set(id, { args, status: 'working', said: String(args['path']), isError: false });
      const statusMessage = `Begins with ${String(args['path'])}`;
      const made = { taskId: id, status: 'working', statusMessage, createdAt: new Date(0).toISOString() };
      return speaksNewest ? { resultType: 'task', ...made, ttlMs: TTL_MS } : { task: { ...made, ttl: TTL_MS } };
    }
    case 'tasks/result':
      return result;
    case 'tasks/get':
      return speaksNewest
        ? { ...about, resultType: 'complete', ...(task?.status === 'completed' && { result }) }
        : about;
    case 'tasks/cancel':
      if (task !== undefined) task.status = 'cancelled';
      return speaksNewest ? { resultType: 'complete' } : { ...about, status: 'cancelled' };
    default:
      return {};
  }
}
