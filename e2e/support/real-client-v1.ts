import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import {
  type CreateMessageResult,
  CreateMessageRequestSchema,
  type ElicitResult,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import {
  type CallOptions,
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  type RealClient,
  type RealClientOptions,
  RECONNECTION,
  WireRecorder,
} from './real-client.ts';

/** A client that also runs tools as tasks, and tasks for the server. */
export interface TaskClient extends RealClient {
  /** The messages of the SDK's task stream: the task, its states, the result. */
  callToolAsTask(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>[]>;
}

const TASK_CAPABILITIES = { requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } };

/** Connects `@modelcontextprotocol/sdk`. It runs what the server asks for as a task if the server wants that. */
export async function connectV1({ url, transport, answers, reconnection }: RealClientOptions): Promise<TaskClient> {
  const wire = new WireRecorder();
  const taskStore = new InMemoryTaskStore();
  const client = new Client(CLIENT_INFO, {
    capabilities: { ...CLIENT_CAPABILITIES, tasks: TASK_CAPABILITIES },
    taskStore,
  });

  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: answers.roots }));
  client.setRequestHandler(CreateMessageRequestSchema, async ({ params }, { taskStore: tasks }) => {
    const result: CreateMessageResult = {
      role: 'assistant',
      content: { type: 'text', text: answers.sampling },
      model: 'test-model',
      stopReason: 'endTurn',
    };
    if (params.task === undefined || tasks === undefined) return result;
    const task = await tasks.createTask({ ttl: params.task.ttl });
    await tasks.storeTaskResult(task.taskId, 'completed', result);
    return { task };
  });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }, { taskStore: tasks }) => {
    const result: ElicitResult = answers.elicitation;
    if (params.task === undefined || tasks === undefined) return result;
    const task = await tasks.createTask({ ttl: params.task.ttl });
    await tasks.storeTaskResult(task.taskId, 'completed', result);
    return { task };
  });

  const endpoint = new URL(url);
  const connection =
    transport === 'sse'
      ? new SSEClientTransport(endpoint, { fetch: wire.fetch })
      : new StreamableHTTPClientTransport(endpoint, {
          fetch: wire.fetch,
          reconnectionOptions: reconnection ?? RECONNECTION,
        });
  await wire.connect(connection, client);

  const optionsOf = ({ signal, onProgress }: CallOptions = {}) => ({ signal, onprogress: onProgress });
  const real: TaskClient = {
    initialized: wire.initialized(),
    received: wire.received,
    sent: wire.sent,
    streams: () => wire.streams,
    request: (method, params, options) =>
      client.request({ method, params }, z.record(z.string(), z.unknown()), optionsOf(options)),
    callTool: (name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, optionsOf(options)),
    notifyRootsChanged: () => client.sendRootsListChanged(),
    waitForMessage: (matches) => wire.waitForMessage(matches),
    async callToolAsTask(name, args) {
      const messages: Record<string, unknown>[] = [];
      const stream = client.experimental.tasks.callToolStream({ name, arguments: args }, undefined, { task: {} });
      for await (const message of stream) messages.push({ ...message });
      return messages;
    },
    async close() {
      taskStore.cleanup();
      try {
        if (connection instanceof StreamableHTTPClientTransport) await connection.terminateSession();
      } finally {
        await client.close();
      }
    },
    [Symbol.asyncDispose]: () => real.close(),
  };
  return real;
}
