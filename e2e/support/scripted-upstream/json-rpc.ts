export type JsonObject = Record<string, unknown>;
export type RequestId = string | number;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {});

const isRequestId = (value: unknown): value is RequestId => typeof value === 'string' || typeof value === 'number';

/** One message of a client. `idText` is the id as it was written, also when it is an integer over 2^53. */
export interface ClientMessage {
  readonly method: string | undefined;
  readonly id: RequestId | undefined;
  readonly idText: string;
  readonly params: JsonObject;
  /** Of an answer to a request of the server: the whole message. */
  readonly message: JsonObject;
}

/** Reads a POST body: one message or a batch. Undefined when it is neither. */
export function parseMessages(text: string): { messages: ClientMessage[]; batch: boolean } | undefined {
  const ids = new Map<unknown, string>();
  let root: unknown;
  try {
    root = JSON.parse(
      text,
      function remember(this: unknown, key: string, value: unknown, context?: { source?: string }) {
        if (key === 'id' && context?.source !== undefined) ids.set(this, context.source);
        return value;
      },
    );
  } catch {
    return undefined;
  }
  const batch = Array.isArray(root);
  const items: unknown[] = Array.isArray(root) ? root : [root];
  const messages: ClientMessage[] = [];
  for (const message of items) {
    if (!isObject(message)) return undefined;
    messages.push({
      method: typeof message.method === 'string' ? message.method : undefined,
      id: isRequestId(message.id) ? message.id : undefined,
      idText: ids.get(message) ?? 'null',
      params: asObject(message.params),
      message,
    });
  }
  return { messages, batch };
}

/** A response as text; `resultText` goes in as it is. */
export const resultText = (idText: string, resultText: string): string =>
  `{"jsonrpc":"2.0","id":${idText},"result":${resultText}}`;

export const errorText = (idText: string, code: number, message: string): string =>
  `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify({ code, message })}}`;

export const notificationText = (method: string, params?: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params });
