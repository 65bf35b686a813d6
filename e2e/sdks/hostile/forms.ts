import type { ServerResponse } from 'node:http';

/** One way to make a client take a list that nobody has cleaned or pinned. */
export interface Form {
  readonly name: string;
  /** Answers `tools/list`. `id` is JSON text, `evil` and `good` are those of results. */
  readonly answer: (id: string, evil: string, good: string, res: ServerResponse) => void;
}

type Message = (id: string, evil: string) => string;

const stringOf = (id: string): string => JSON.stringify(String(JSON.parse(id)));
const padded = (evil: string): string => `{"_meta":{"x":"${'x'.repeat(300_000)}"},${evil.slice(1)}`;

/** Responses that some parsers take for the awaited one. */
const MESSAGES: Readonly<Record<string, Message>> = {
  'method null': (id, evil) => `{"jsonrpc":"2.0","id":${id},"method":null,"result":${evil}}`,
  'method of another type': (id, evil) => `{"jsonrpc":"2.0","id":${id},"method":false,"result":${evil}}`,
  'a method beside the result': (id, evil) => `{"jsonrpc":"2.0","id":${id},"method":"ping","result":${evil}}`,
  'an empty method': (id, evil) => `{"jsonrpc":"2.0","id":${id},"method":"","result":${evil}}`,
  ID: (id, evil) => `{"jsonrpc":"2.0","ID":${id},"result":${evil}}`,
  Result: (id, evil) => `{"jsonrpc":"2.0","id":${id},"Result":${evil}}`,
  'a long s': (id, evil) => `{"jsonrpc":"2.0","id":${id},"re\u017fult":${evil}}`,
  'a name in escapes': (id, evil) => `{"jsonrpc":"2.0","id":${id},"r\\u0065sult":${evil},"method":null}`,
  'another id first': (id, evil) => `{"jsonrpc":"2.0","id":"x","id":${id},"result":${evil}}`,
  'another id last': (id, evil) => `{"jsonrpc":"2.0","id":${id},"result":${evil},"id":"x"}`,
  'two results': (id, evil) => `{"jsonrpc":"2.0","id":${id},"result":${evil},"result":{"tools":[]}}`,
  'a result and an error': (id, evil) =>
    `{"jsonrpc":"2.0","id":${id},"result":${evil},"error":{"code":1,"message":"m"}}`,
  'an id as a text': (id, evil) => `{"jsonrpc":"2.0","id":${stringOf(id)},"result":${evil}}`,
  'an id as a fraction': (id, evil) => `{"jsonrpc":"2.0","id":${id.startsWith('"') ? id : `${id}.0`},"result":${evil}}`,
  'an id that is true': (_id, evil) => `{"jsonrpc":"2.0","id":true,"result":${evil}}`,
  'NaN before it': (id, evil) => `{"jsonrpc":"2.0","x":NaN,"id":${id},"result":${evil}}`,
  'NaN within it': (id, evil) => `{"jsonrpc":"2.0","id":${id},"result":${evil.slice(0, -1)},"x":NaN}}`,
  'a comment': (id, evil) => `{"jsonrpc":"2.0",/*"*/"id":${id},"result":${evil}/*"*/}`,
  'an array': (id, evil) => `[{"jsonrpc":"2.0","id":${id},"method":null,"result":${evil}}]`,
  'an array with a text id': (id, evil) =>
    `[{"jsonrpc":"2.0","id":${stringOf(id)},"result":${evil}},{"jsonrpc":"2.0","id":${id},"method":"ping"}]`,
  'method null, large': (id, evil) => `{"jsonrpc":"2.0","id":${id},"result":${padded(evil)},"method":null}`,
  'two results, large': (id, evil) => `{"jsonrpc":"2.0","id":${id},"result":{"tools":[]},"result":${padded(evil)}}`,
};

/** What stands around the data of an event in which some clients find another one. */
const FRAMES: Readonly<Record<string, (message: string) => string>> = {
  'an event of another name': (message) => `event: message \ndata: ${message}\n\n`,
  'data in capitals': (message) => `Data: ${message}\n\n`,
  'a space before data': (message) => ` data: ${message}\n\n`,
  'a byte order mark before data': (message) => `\n\n\ufeffdata: ${message}\n\n`,
  'no blank line at the end': (message) => `event: message\ndata: ${message}\n`,
};

const SEPARATORS = {
  VT: '\v',
  FF: '\f',
  FS: '\u001c',
  GS: '\u001d',
  RS: '\u001e',
  NEL: '\u0085',
  LS: '\u2028',
  PS: '\u2029',
};

/** Where such a separator may stand. */
const PLACES: Readonly<Record<string, (hidden: string, id: string, escaped: string) => string>> = {
  'a comment': (hidden) => `: x${hidden}\n\n`,
  'an event id': (hidden) =>
    `id: x${hidden}\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n`,
  'a text': (_hidden, _id, escaped) =>
    `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"${escaped}"}}\n\n`,
};

const plain: Message = (id, result) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
const frame = (message: string): string => `event: message\ndata: ${message}\n\n`;

function stream(res: ServerResponse, text: string, status = 200): void {
  res.writeHead(status, { 'content-type': 'text/event-stream' }).end(text);
}

const onStreams: readonly Form[] = Object.entries(MESSAGES).map(([name, message]) => ({
  name: `${name}, on a stream`,
  answer: (id, evil, good, res) => stream(res, frame(message(id, evil)) + frame(plain(id, good))),
}));
const asBodies: readonly Form[] = Object.entries(MESSAGES).map(([name, message]) => ({
  name: `${name}, as a body`,
  answer: (id, evil, _good, res) =>
    void res.writeHead(200, { 'content-type': 'application/json' }).end(message(id, evil)),
}));
const inFrames: readonly Form[] = Object.entries(FRAMES).map(([name, framed]) => ({
  name,
  answer: (id, evil, good, res) => stream(res, framed(plain(id, evil)) + frame(plain(id, good))),
}));
const behindSeparators: readonly Form[] = Object.entries(SEPARATORS).flatMap(([name, separator]) =>
  Object.entries(PLACES).map(([place, hide]) => ({
    name: `${name} in ${place}`,
    answer: (id, evil, good, res) => {
      const hidden = `${separator}data: ${plain(id, evil)}${separator}${separator}`;
      const escaped = `${separator}data: ${plain(id, evil).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}${separator}`;
      stream(res, hide(hidden, id, escaped) + frame(plain(id, good)));
    },
  })),
);
const withStatuses: readonly Form[] = [400, 418, 500].flatMap((status) => [
  {
    name: `status ${status} with a body`,
    answer: (id, evil, _good, res) =>
      void res.writeHead(status, { 'content-type': 'application/json' }).end(plain(id, evil)),
  },
  {
    name: `status ${status} with a stream`,
    answer: (id, evil, _good, res) => stream(res, frame(plain(id, evil)), status),
  },
]);

export const FORMS: readonly Form[] = [...onStreams, ...asBodies, ...inFrames, ...behindSeparators, ...withStatuses];
