import { CLOCK, ELICITATION, SESSION, steady, withReadableBlobs } from './volatile.ts';

/** One call of a tool of server-everything, and what its outcome must at least show. */
export interface ToolCall {
  readonly what: string;
  readonly tool: string;
  readonly args?: Record<string, unknown>;
  readonly shows: string;
  /** For outcomes that are never twice the same: the outcome without the part that differs. */
  readonly steady?: (outcome: unknown) => unknown;
}

const withoutSession = (outcome: unknown): unknown => steady(outcome, SESSION);
const withoutClock = (outcome: unknown): unknown => steady(withReadableBlobs(outcome), CLOCK);

/** Every tool of the server but those that run as tasks or ask the client to, which are tested by themselves. */
export const TOOL_CALLS: readonly ToolCall[] = [
  { what: 'a text', tool: 'echo', args: { message: 'Grüße, 世界 🌍\n"\\u2028 </script>' }, shows: 'Grüße, 世界 🌍' },
  { what: 'a text of 1 MB', tool: 'echo', args: { message: '0123456789abcdef'.repeat(65_536) }, shows: 'Echo: 0123' },
  ...(['error', 'success', 'debug'] as const).map((messageType) => ({
    what: `annotations of kind ${messageType}`,
    tool: 'get-annotated-message',
    args: { messageType, includeImage: true },
    shows: '"audience":["user"]',
  })),
  { what: "the server's environment", tool: 'get-env', shows: 'PATH' },
  { what: 'resource links', tool: 'get-resource-links', args: { count: 10 }, shows: '"type":"resource_link"' },
  {
    what: 'an embedded text resource (made anew with the time of day)',
    tool: 'get-resource-reference',
    args: { resourceType: 'Text', resourceId: 3 },
    shows: 'created at <clock>',
    steady: withoutClock,
  },
  {
    what: 'an embedded binary resource (made anew with the time of day)',
    tool: 'get-resource-reference',
    args: { resourceType: 'Blob', resourceId: 4 },
    shows: 'base64 blob created at <clock>',
    steady: withoutClock,
  },
  { what: 'an error of the tool', tool: 'get-resource-reference', args: { resourceId: -1 }, shows: '"isError":true' },
  {
    what: 'structured content',
    tool: 'get-structured-content',
    args: { location: 'Chicago' },
    shows: '"structuredContent":{"temperature":36',
  },
  {
    what: 'a sum of numbers at their limits',
    tool: 'get-sum',
    args: { a: 0.1, b: 9007199254740991 },
    shows: 'is 9007199',
  },
  { what: 'the error of arguments of a wrong type', tool: 'get-sum', args: { a: '1' }, shows: 'Invalid arguments' },
  { what: 'an image', tool: 'get-tiny-image', shows: '"mimeType":"image/png"' },
  {
    what: 'a compressed file as a resource',
    tool: 'gzip-file-as-resource',
    args: { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resource' },
    shows: '"blob":"H4sI',
  },
  {
    what: 'a compressed file as a link',
    tool: 'gzip-file-as-resource',
    args: { name: 'b.gz', data: 'data:text/plain,hello', outputType: 'resourceLink' },
    shows: 'demo://resource/session/b.gz',
  },
  {
    what: 'the end of a long operation',
    tool: 'trigger-long-running-operation',
    args: { duration: 0.2, steps: 2 },
    shows: 'Steps: 2',
  },
  ...['Started', 'Stopped'].flatMap((verb) => [
    {
      what: `that logging has ${verb.toLowerCase()} (names the server's session)`,
      tool: 'toggle-simulated-logging',
      shows: `${verb} simulated`,
      steady: withoutSession,
    },
    {
      what: `that updates have ${verb.toLowerCase()} (names the server's session)`,
      tool: 'toggle-subscriber-updates',
      shows: `${verb} simulated`,
      steady: withoutSession,
    },
  ]),
  { what: 'the roots of the client', tool: 'get-roots-list', shows: 'file:///home/ada/notes' },
  {
    what: 'an answer of the model',
    tool: 'trigger-sampling-request',
    args: { prompt: 'Hello' },
    shows: 'an answer of the model',
  },
  { what: 'what the user has filled in', tool: 'trigger-elicitation-request', shows: 'Name: Ada Lovelace' },
  {
    what: 'that the user has opened a URL',
    tool: 'trigger-url-elicitation',
    args: { url: 'https://example.org/consent', elicitationId: 'consent-1' },
    shows: 'Elicitation ID: consent-1',
  },
  {
    what: 'the error that asks for a URL to be opened first (with a random id)',
    tool: 'trigger-url-elicitation',
    args: { url: 'https://example.org/consent', elicitationId: 'consent-2', errorPath: true },
    shows: '-32042',
    steady: (outcome) => steady(outcome, ELICITATION),
  },
  {
    what: 'the refusal to run without a task',
    tool: 'simulate-research-query',
    args: { topic: 'x' },
    shows: 'requires task',
  },
  { what: 'the error of a tool that does not exist', tool: 'no-such-tool', shows: 'no-such-tool' },
];
