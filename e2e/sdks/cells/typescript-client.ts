import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const INFO = { name: 'client', version: '1.0.0' };
const OFFERED = { elicitation: { form: {} }, sampling: {}, roots: {} };
const SAMPLED = { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: 'Paris' } };
const ROOTS = { roots: [{ uri: 'file:///work' }] };
const WATCHED = 'test://watched-resource';
const LIMIT_MS = 20_000;

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { progress: number }) => void;
}
interface Call {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly _meta?: Record<string, unknown>;
}

/** What the clients of both lines have in common. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: Call, options?: CallOptions): Promise<unknown>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  readResource(of: { uri: string }): Promise<{ contents: unknown[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  getPrompt(of: { name: string; arguments?: Record<string, string> }): Promise<{ messages: { content: unknown }[] }>;
  complete(of: {
    ref: { type: 'ref/prompt'; name: string };
    argument: { name: string; value: string };
  }): Promise<{ completion: { values: string[] } }>;
  setLoggingLevel(level: 'info'): Promise<unknown>;
  subscribeResource(of: { uri: string }): Promise<unknown>;
  close(): Promise<void>;
}

interface Connected {
  readonly client: AnyClient;
  readonly revision: string;
  /** Opens the stream on which a client without sessions hears of changes. */
  readonly listen?: (of: { resourceSubscriptions?: string[]; toolsListChanged?: boolean }) => Promise<unknown>;
  readonly heard: Heard;
}

/** What the server says beside its results. */
interface Heard {
  readonly logs: string[];
  readonly updated: PromiseWithResolvers<void>;
  readonly tools: PromiseWithResolvers<void>;
}

export type Connect = (url: string, offersAll: boolean) => Promise<Connected>;

const nothingHeard = (): Heard => ({ logs: [], updated: Promise.withResolvers(), tools: Promise.withResolvers() });

/** Fills in whatever is asked for. */
const filledIn = (form: { params: unknown }) => {
  const { requestedSchema } = form.params as { requestedSchema: { properties: Record<string, unknown> } };
  const content = Object.fromEntries(Object.keys(requestedSchema.properties).map((name) => [name, 'Ada']));
  return { action: 'accept' as const, content };
};

export const connectV1: Connect = async (url, offersAll) => {
  const client = new ClientV1(INFO, { capabilities: offersAll ? OFFERED : {} });
  const heard = nothingHeard();
  if (offersAll) {
    client.setRequestHandler(ElicitRequestSchema, filledIn);
    client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED);
    client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
  }
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => void heard.logs.push('log'));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => heard.updated.resolve());
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => heard.tools.resolve());
  const transport = new TransportV1(new URL(url));
  await client.connect(transport);
  const called = client.callTool.bind(client);
  const callTool = (call: Call, options?: CallOptions): Promise<unknown> => called(call, undefined, options);
  return { client: Object.assign(client, { callTool }), revision: transport.protocolVersion ?? '', heard };
};

export const connectV2 =
  (isNewer: boolean): Connect =>
  async (url, offersAll) => {
    const client = new ClientV2(INFO, {
      capabilities: offersAll ? OFFERED : {},
      versionNegotiation: isNewer ? { mode: 'auto' } : undefined,
    });
    const heard = nothingHeard();
    if (offersAll) {
      client.setRequestHandler('elicitation/create', filledIn);
      client.setRequestHandler('sampling/createMessage', () => SAMPLED);
      client.setRequestHandler('roots/list', () => ROOTS);
    }
    client.setNotificationHandler('notifications/message', () => void heard.logs.push('log'));
    client.setNotificationHandler('notifications/resources/updated', () => heard.updated.resolve());
    client.setNotificationHandler('notifications/tools/list_changed', () => heard.tools.resolve());
    await client.connect(new TransportV2(new URL(url)));
    const revision = client.getNegotiatedProtocolVersion() ?? '';
    return { client, revision, heard, ...(isNewer && { listen: (of) => client.listen(of) }) };
  };

/** Uses all that a server has. What came of it, by feature. */
export async function used(connect: Connect, url: string): Promise<Record<string, string>> {
  const connected = await connect(url, true);
  const outcomes: Record<string, string> = {};
  try {
    for (const [name, feature] of Object.entries(features(connected, connect, url))) {
      outcomes[name] = await limited(feature()).catch(failure);
    }
  } finally {
    await connected.client.close();
  }
  return outcomes;
}

function features({ client, revision, listen, heard }: Connected, connect: Connect, url: string) {
  const tool = (name: string) => async () => text(await client.callTool({ name, arguments: {} }));
  const read = (uri: string) => async () => textOf((await client.readResource({ uri })).contents);
  const prompt = (name: string, args?: Record<string, string>) => async () => {
    const { messages } = await client.getPrompt({ name, ...(args && { arguments: args }) });
    return textOf(messages.map(({ content }) => content));
  };
  const trigger = async (name: string, event: PromiseWithResolvers<void>): Promise<string> => {
    await client.callTool({ name, arguments: {} });
    await event.promise;
    return 'heard';
  };

  return {
    revision: async () => revision,
    'list of tools': async () => joined((await client.listTools()).tools, ({ name }) => name),
    call: tool('test_simple_text'),
    'error of a tool': tool('test_error_handling'),
    'list of resources': async () => joined((await client.listResources()).resources, ({ uri }) => uri),
    resource: read('test://static-text'),
    'unknown resource': read('test://none'),
    'list of templates': async () =>
      joined((await client.listResourceTemplates()).resourceTemplates, ({ uriTemplate }) => uriTemplate),
    'resource of a template': read('test://template/7/data'),
    'list of prompts': async () => joined((await client.listPrompts()).prompts, ({ name }) => name),
    prompt: prompt('test_prompt_with_arguments', { arg1: 'a', arg2: 'b' }),
    completion: async () => {
      const ref = { type: 'ref/prompt' as const, name: 'test_prompt_with_arguments' };
      return (await client.complete({ ref, argument: { name: 'arg1', value: 'par' } })).completion.values.join(' ');
    },
    progress: async () => {
      const seen: number[] = [];
      const call = { name: 'test_tool_with_progress', arguments: {} };
      await client.callTool(call, { onprogress: ({ progress }) => seen.push(progress) });
      return seen.join(' ');
    },
    'log messages': async () => {
      const call: Call = { name: 'test_tool_with_logging', arguments: {} };
      if (listen === undefined) await client.setLoggingLevel('info');
      const level = { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } };
      await client.callTool({ ...call, ...(listen && level) });
      return heard.logs.join(' ');
    },
    cancellation: async () => {
      const key = crypto.randomUUID();
      const cancelled = new AbortController();
      const options = { signal: cancelled.signal, onprogress: () => cancelled.abort() };
      await client.callTool({ name: 'test_wait', arguments: { key } }, options).catch(() => undefined);
      return text(await client.callTool({ name: 'test_wait_ended', arguments: { key } }));
    },
    elicitation: tool('test_input_required_result_elicitation'),
    sampling: tool('test_input_required_result_sampling'),
    roots: tool('test_input_required_result_list_roots'),
    'several questions': tool('test_input_required_result_multiple_inputs'),
    'question of a prompt': prompt('test_input_required_result_prompt'),
    'question that is not offered': async () => {
      const bare = await connect(url, false);
      try {
        return text(await bare.client.callTool({ name: 'test_input_required_result_elicitation', arguments: {} }));
      } finally {
        await bare.client.close();
      }
    },
    'resource updates': async () => {
      if (listen === undefined) await client.subscribeResource({ uri: WATCHED });
      else await listen({ resourceSubscriptions: [WATCHED] });
      return trigger('test_trigger_resource_change', heard.updated);
    },
    'list changes': async () => {
      if (listen !== undefined) await listen({ toolsListChanged: true });
      return trigger('test_trigger_tool_change', heard.tools);
    },
  } satisfies Record<string, () => Promise<string>>;
}

const joined = <One>(all: readonly One[], name: (one: One) => string): string => all.map(name).join(' ');
const textOf = (parts: readonly unknown[]): string =>
  joined(parts as { text?: string }[], ({ text: said = '' }) => said);

function text(result: unknown): string {
  const { content, isError } = result as { content: unknown[]; isError?: boolean };
  return `${isError === true ? 'isError: ' : ''}${textOf(content)}`;
}

function failure(error: unknown): string {
  const { code = 'error', message } = error as { code?: string | number; message: string };
  return `${code}: ${message}`;
}

async function limited(outcome: Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`nothing within ${LIMIT_MS} ms`), LIMIT_MS);
  });
  return Promise.race([outcome, late]).finally(() => clearTimeout(timer));
}
