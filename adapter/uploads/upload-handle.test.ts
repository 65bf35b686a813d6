import { expect, test } from 'vitest';

import { parseHandle } from './upload-handle.ts';

const sid = '0123456789abcdef0123456789abcdef';
const fid = 'fedcba9876543210fedcba9876543210';

test.each([`upload://sessions/${sid}/${fid}`, `upload://sessions/${sid}/${fid}/report.pdf`])(
  'a handle names a session and a file: %s',
  (handle) => {
    expect(parseHandle(handle, 'upload://')).toEqual({ sessionId: sid, fileId: fid });
  },
);

test.each([
  '',
  '/etc/passwd',
  'https://example.com/x',
  'data:text/plain,x',
  `sessions/${sid}/${fid}`,
  `other://sessions/${sid}/${fid}`,
  ` upload://sessions/${sid}/${fid}`,
  `upload://sessions/${sid}`,
  `upload://sessions/${sid}/${fid}/a/b`,
  `upload://sessions/${sid}/${fid}\n`,
  `upload://sessions/../${fid}`,
  `upload://sessions/${sid.toUpperCase()}/${fid}`,
  `upload://sessions/${sid}0/${fid}`,
  `upload:///sessions/${sid}/${fid}`,
])('nothing else is a handle: %j', (handle) => {
  expect(parseHandle(handle, 'upload://')).toBeUndefined();
});

test('the scheme is the configured one', () => {
  expect(parseHandle(`files://sessions/${sid}/${fid}`, 'files://')).toEqual({ sessionId: sid, fileId: fid });
});
