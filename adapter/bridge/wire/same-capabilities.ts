import { isObject, type JsonObject, objectOf } from '../../../lib/json/json-object.ts';

/** Calls that become tasks are polled for in another way in each revision. */
const TASKS = 'io.modelcontextprotocol/tasks';
const OF_SERVERS = ['tools', 'prompts', 'resources', 'completions', 'logging', 'experimental'];
const OF_CLIENTS = ['elicitation', 'sampling', 'roots', 'experimental'];

/** What a server can do that means the same in all revisions. */
export const serverCapabilities = (said: JsonObject): JsonObject => same(said, OF_SERVERS);

/** What a client offers that means the same in all revisions. */
export const clientCapabilities = (said: JsonObject): JsonObject => same(said, OF_CLIENTS);

function same(said: JsonObject, names: readonly string[]): JsonObject {
  const out: JsonObject = {};
  for (const name of names) if (isObject(said[name])) out[name] = said[name];
  const extensions = Object.entries(objectOf(said['extensions'])).filter(([name]) => name !== TASKS);
  if (extensions.length > 0) out['extensions'] = Object.fromEntries(extensions);
  return out;
}
