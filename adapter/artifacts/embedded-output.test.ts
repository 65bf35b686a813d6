import { describe, expect, test } from 'vitest';

import { embeddedOutput } from './embedded-output.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const image = { type: 'image', data: base64('image'), mimeType: 'image/png' };
const audio = { type: 'audio', data: base64('audio'), mimeType: 'audio/wav' };
const blob = { type: 'resource', resource: { uri: 'file:///x/my%20report.pdf?a=1', blob: base64('blob') } };
const text = { type: 'resource', resource: { uri: 'notes:a', text: 'Grüße', mimeType: 'text/markdown' } };

describe('a file in the result itself', () => {
  test.each([
    ['an image before all else', [text, blob, audio, image], 'image', undefined, 'image/png'],
    ['audio before resources', [text, blob, audio], 'audio', undefined, 'audio/wav'],
    ['the first resource: bytes', [blob, text], 'blob', 'my report.pdf', undefined],
    ['the first resource: text', [text, blob], 'Grüße', 'a', 'text/markdown'],
    ['the first of two images', [image, { ...image, data: base64('second') }], 'image', undefined, 'image/png'],
    ['nothing that is empty', [{ ...image, data: '' }, audio], 'audio', undefined, 'audio/wav'],
  ])('is %s', (_name, content, bytes, name, mimeType) => {
    const output = embeddedOutput({ content });
    expect({ ...output, bytes: output?.bytes.toString() }).toEqual({ bytes, name, mimeType });
  });

  test.each([
    [undefined],
    [{}],
    [[null, 'image', { type: 'text', text: 'x' }, { type: 'image', data: 5 }, { type: 'resource' }]],
    [
      [
        { type: 'resource', resource: { uri: 'x:y' } },
        { type: 'resource_link', uri: 'file:///a' },
      ],
    ],
  ])('is not in %j', (content) => {
    expect(embeddedOutput({ content })).toBeUndefined();
  });

  test.each([
    ['https://host/', undefined],
    ['no uri', undefined],
    ['file:///%ff', '%ff'],
    [5, undefined],
  ])('with the URI %j is called %j', (uri, name) => {
    expect(embeddedOutput({ content: [{ type: 'resource', resource: { uri, text: 'x' } }] })?.name).toBe(name);
  });
});
