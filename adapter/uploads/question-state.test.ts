import { expect, test } from 'vitest';

import {
  isOwnState,
  openQuestion,
  paramsDigest,
  type QuestionState,
  sealQuestion,
  withoutAnswers,
  withOwnState,
} from './question-state.ts';

const STATE: QuestionState = {
  serverId: 's1',
  principal: 'me',
  tool: 't',
  params: 'digest',
  sessionId: 'f'.repeat(32),
  elicitationId: 'e',
  url: 'https://adapter/upload',
  expiresAt: 1,
};
const body = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${params}}}`;

test('T18: a sealed state opens as a whole, with the same secret only', () => {
  const sealed = sealQuestion('secret', STATE);
  expect(isOwnState(sealed)).toBe(true);
  expect(openQuestion('secret', sealed)).toEqual(STATE);
  expect(openQuestion('other', sealed)).toBeUndefined();
  expect(sealQuestion('secret', STATE)).not.toBe(sealed);
  expect(Buffer.from(sealed.slice(sealed.lastIndexOf('.') + 1), 'base64url').toString('latin1')).not.toContain(
    'adapter',
  );
});

test('T18: a state that was changed anywhere does not open', () => {
  const sealed = sealQuestion('secret', STATE);
  for (let i = sealed.lastIndexOf('.') + 1; i < sealed.length - 1; i += 7) {
    const changed = sealed.slice(0, i) + (sealed[i] === 'A' ? 'B' : 'A') + sealed.slice(i + 1);
    expect(openQuestion('secret', changed)).toBeUndefined();
  }
  const start = sealed.slice(0, sealed.lastIndexOf('.') + 1);
  for (const text of [start, `${start}AAAA`, `${start}${'A'.repeat(2_000_000)}`, sealed.slice(0, -8)]) {
    expect(openQuestion('secret', text)).toBeUndefined();
  }
});

test.each(['', 'v1.sealed', 'mcp-adapter-upload', 7, null, undefined])('%j is the state of somebody else', (state) => {
  expect(isOwnState(state)).toBe(false);
});

test('parameters are the same however they are written, and whatever a retry adds', () => {
  const first = paramsDigest(body('"name":"t","arguments":{"a":1,"b":[2.0]}'));
  const retry = '"requestState":"s","inputResponses":{},"_meta":{"progressToken":2},';
  expect(paramsDigest(body(`${retry}"arguments": {"b":[2],"\\u0061":1},"name":"t"`))).toBe(first);
  for (const other of ['"a":2,"b":[2]', '"a":1,"b":[2],"c":null', '"a":"1","b":[2]', '"a":1,"b":2']) {
    expect(paramsDigest(body(`"name":"t","arguments":{${other}}`))).not.toBe(first);
  }
  expect(paramsDigest(body('"name":"t","arguments":{"a":1,"b":[2]},"task":{}'))).not.toBe(first);
});

test('what goes up has neither answers nor state of ours, and every other byte of the call', () => {
  const call = '"name":"t", "arguments":{"n":1e400}';
  expect(withoutAnswers(body(`${call},"inputResponses":{"upload":{}},"requestState":"s"`), undefined)).toBe(
    body('"name":"t","arguments":{"n":1e400}'),
  );
  const answers = '"inputResponses":{"theirs":{}}';
  expect(withoutAnswers(body(`${call}, ${answers}, "requestState":"s"`), { stateText: '"\\u00e9 "' })).toBe(
    body(`${call}, ${answers}, "requestState":"\\u00e9 "`),
  );
  expect(withoutAnswers(body(`${answers},"requestState":"s"`), { stateText: null })).toBe(body(answers));
});

test('a question of the upstream carries our state in the place of its own', () => {
  const told: (string | null)[] = [];
  const seal = (stateText: string | null): string => `sealed ${told.push(stateText)}`;
  const answer = (result: string): string => `{"jsonrpc":"2.0","id":1,"result":{${result}}}`;
  const asked = '"resultType":"input_required","inputRequests":{}';
  expect(withOwnState(answer(`${asked},"requestState":"\\u00e9"`), seal)).toBe(
    answer(`${asked},"requestState":"sealed 1"`),
  );
  expect(withOwnState(answer(asked), seal)).toBe(answer(`"requestState":"sealed 2",${asked}`));
  const others = [answer('"resultType":"complete","requestState":"x"'), answer('"content":[]'), '{"id":1,"error":{}}'];
  for (const other of others) expect(withOwnState(other, seal)).toBe(other);
  expect(told).toEqual(['"\\u00e9"', null]);
});
