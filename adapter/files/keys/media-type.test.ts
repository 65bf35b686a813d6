import { describe, expect, test } from 'vitest';

import { contentType, extensionOf, mediaType } from './media-type.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('the media type of a file', () => {
  test.each([
    ['a.txt', '%PDF-1.7', 'application/pdf'],
    ['a.jpg', '\x89PNG\r\n\x1a\n....', 'image/png'],
    ['a', '\xff\xd8\xff\xe0', 'image/jpeg'],
    ['a', 'GIF89a', 'image/gif'],
    ['a', 'GIF87a', 'image/gif'],
    ['a', 'RIFF....WEBPVP8', 'image/webp'],
  ])('%s is what its first bytes say', (name, start, expected) => {
    expect(mediaType(name, bytes(start), 'video/mp4')).toBe(expected);
  });

  test.each([
    ['data.json', '{}', 'application/json'],
    ['PAGE.HTML', '<p>', 'text/html'],
    ['a.svg', '<svg/>', 'image/svg+xml'],
    ['a.wav', 'RIFF....WAVE', 'audio/wav'],
    ['a.bin', 'text', 'application/octet-stream'],
  ])('%s is what its extension says', (name, start, expected) => {
    expect(mediaType(name, bytes(start), 'video/mp4')).toBe(expected);
  });

  test('is what its maker says where neither says more', () => {
    expect(mediaType('report', bytes('# Title'), 'Text/Markdown; charset=utf-8')).toBe('text/markdown');
    expect(mediaType('report', bytes('# Title'), 'no type')).toBe('text/plain');
    expect(mediaType('report', bytes('# Title'), 'text/x\r\nset-cookie: a')).toBe('text/plain');
  });

  test.each([
    ['text', Buffer.from('Grüße'), 'text/plain'],
    ['text that is cut within a character', Buffer.from('😀'.repeat(200)).subarray(0, 511 + 1), 'text/plain'],
    ['text cut after one byte of four', Buffer.from(`a${'😀'.repeat(200)}`).subarray(0, 512), 'text/plain'],
    ['a short file that ends within a character', Buffer.from('😀').subarray(0, 3), 'application/octet-stream'],
    ['a zero byte', Buffer.from('a\0b'), 'application/octet-stream'],
    ['no UTF-8', bytes('Gr\xfc\xdfe'), 'application/octet-stream'],
    ['nothing', Buffer.alloc(0), 'application/octet-stream'],
  ])('without an extension: %s', (_name, start, expected) => {
    expect(mediaType('png', start)).toBe(expected);
  });

  test.each([
    ['image/png', '.png'],
    ['image/jpeg', '.jpg'],
    ['text/plain', '.txt'],
    ['audio/mpeg', '.mp3'],
    ['application/pdf', '.pdf'],
    ['application/octet-stream', ''],
    ['application/x-nobody-knows', ''],
  ])('%s has the extension %j', (type, extension) => {
    expect(extensionOf(type)).toBe(extension);
  });

  test('says the encoding of text', () => {
    expect(contentType('text/plain')).toBe('text/plain; charset=utf-8');
    expect(contentType('image/png')).toBe('image/png');
  });
});
