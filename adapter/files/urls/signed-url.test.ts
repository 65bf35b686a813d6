import { describe, expect, test } from 'vitest';
import {
  downloadQuery,
  openSession,
  readUploadQuery,
  sealSession,
  type SignedUpload,
  uploadQuery,
  verifyDownload,
  verifyUpload,
} from './signed-url.ts';

const SECRET = 's3cr3t-ü';
const EXP = 1_764_000_000;
const upload = { serverId: 'pw', sessionId: '4f'.repeat(16) };
const nonce = '9a'.repeat(16);
const download = { ...upload, artifactId: '0b'.repeat(16), filename: 'shot.png' };

// KEY=$(openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt key:'s3cr3t-ü' -kdfopt info:'upload URL' -binary HKDF | xxd -p -c 64)
// printf 'pw\n<session>\n1764000000\n<nonce>' | openssl dgst -sha256 -mac HMAC -macopt hexkey:$KEY
const UPLOAD_SIGNATURE = 'cc4fd161faca1168b82f5a079e566e37cb92fc588d972621dec01a4d90e48748';
// With info:'download URL': printf 'pw\n<session>\n<artifact>\nshot.png\n1764000000' | …
const DOWNLOAD_SIGNATURE = '33973fc15e1a1c3057da8f2a12ff693b89a5e77bfa5e42491c6e8a6225c64646';

const readable = (query: string): SignedUpload => {
  const signed = readUploadQuery(new URLSearchParams(query));
  if (typeof signed === 'string') throw new Error(signed);
  return signed;
};

describe('T16: signed upload URLs', () => {
  const query = uploadQuery(SECRET, { ...upload, exp: EXP, nonce });

  test('T25: the signature is what openssl computes, with a key that is derived from the secret', () => {
    expect(query).toBe(`mcp_upload_exp=${EXP}&mcp_upload_nonce=${nonce}&mcp_upload_sig=${UPLOAD_SIGNATURE}`);
  });

  test('valid up to and including the last second', () => {
    const signed = readable(query);
    expect(verifyUpload(SECRET, upload, signed, 0)).toBe('valid');
    expect(verifyUpload(SECRET, upload, signed, EXP * 1000)).toBe('valid');
    expect(verifyUpload(SECRET, upload, signed, EXP * 1000 + 999)).toBe('valid');
    expect(verifyUpload(SECRET, upload, signed, EXP * 1000 + 1000)).toBe('expired');
  });

  test('for one server, session and secret only', () => {
    const signed = readable(query);
    expect(verifyUpload(SECRET, { ...upload, serverId: 'other' }, signed, 0)).toBe('invalid');
    expect(verifyUpload(SECRET, { ...upload, sessionId: '4e'.repeat(16) }, signed, 0)).toBe('invalid');
    expect(verifyUpload('other', upload, signed, 0)).toBe('invalid');
  });

  test('nothing can be changed', () => {
    const signed = readable(query);
    expect(verifyUpload(SECRET, upload, { ...signed, exp: `${EXP + 1}` }, 0)).toBe('invalid');
    expect(verifyUpload(SECRET, upload, { ...signed, exp: `0${EXP}` }, 0)).toBe('invalid');
    expect(verifyUpload(SECRET, upload, { ...signed, nonce: '9b'.repeat(16) }, 0)).toBe('invalid');
    for (let i = 0; i < 64; i++) {
      const digit = signed.sig[i] === '0' ? '1' : '0';
      const sig = signed.sig.slice(0, i) + digit + signed.sig.slice(i + 1);
      expect(verifyUpload(SECRET, upload, { ...signed, sig }, 0)).toBe('invalid');
    }
  });

  test('an expired one whose signature is wrong does not count as expired', () => {
    const signed = { ...readable(query), sig: '0'.repeat(64) };
    expect(verifyUpload(SECRET, upload, signed, EXP * 2000)).toBe('invalid');
  });

  test('a text cannot stand for another claim by its line breaks', () => {
    const shifted = { serverId: `pw\n${upload.sessionId}`, sessionId: `${EXP}` };
    const forged = { exp: nonce, nonce: '', sig: UPLOAD_SIGNATURE };
    expect(verifyUpload(SECRET, shifted, forged, 0)).toBe('invalid');
    expect(verifyUpload(SECRET, { ...upload, serverId: 'a\nb' }, readable(query), 0)).toBe('invalid');
  });

  test.each([
    ['the signature in capitals', { sig: UPLOAD_SIGNATURE.toUpperCase() }],
    ['a truncated signature', { sig: UPLOAD_SIGNATURE.slice(0, 32) }],
    ['a longer signature', { sig: `${UPLOAD_SIGNATURE}00` }],
    ['no signature', { sig: '' }],
    ['no hexadecimal digits', { sig: 'ü'.repeat(64) }],
    ['a nonce of another shape', { nonce: '../../x' }],
    ['a short nonce', { nonce: '9a' }],
    ['no number', { exp: 'soon' }],
    ['a negative number', { exp: '-1' }],
    ['a fraction', { exp: '1764000000.5' }],
    ['an exponent', { exp: '1e99' }],
    ['hexadecimal', { exp: '0x7fffffff' }],
    ['other digits', { exp: '１７６４０００００００' }],
    ['a line break', { exp: `${EXP}\n` }],
    ['a blank', { exp: ` ${EXP}` }],
    ['more than any time', { exp: '9'.repeat(400) }],
    ['nothing', { exp: '' }],
  ])('not even looked up: %s', (_, changes) => {
    const values = { exp: `${EXP}`, nonce, sig: UPLOAD_SIGNATURE, ...changes };
    const params = new URLSearchParams({
      mcp_upload_exp: values.exp,
      mcp_upload_nonce: values.nonce,
      mcp_upload_sig: values.sig,
    });
    expect(readUploadQuery(params)).toBe('invalid');
  });

  test.each(['mcp_upload_exp', 'mcp_upload_nonce', 'mcp_upload_sig'])('%s given twice, or not at all', (name) => {
    const twice = new URLSearchParams(query);
    twice.append(name, twice.get(name) ?? '');
    expect(readUploadQuery(twice)).toBe('invalid');
    const without = new URLSearchParams(query);
    without.delete(name);
    expect(readUploadQuery(without)).toBe('invalid');
  });

  test('a URL without any of the parameters was never signed', () => {
    expect(readUploadQuery(new URLSearchParams('session_id=x'))).toBe('absent');
  });

  test('other parameters are nobody’s business', () => {
    expect(readable(`${query}&utm_source=mail`)).toEqual({ exp: `${EXP}`, nonce, sig: UPLOAD_SIGNATURE });
  });
});

describe('T16: signed download URLs', () => {
  const query = downloadQuery(SECRET, { ...download, exp: EXP });
  const checked = (changes: Partial<typeof download> = {}, now = 0, text = query) =>
    verifyDownload(SECRET, { ...download, ...changes }, new URLSearchParams(text), now);

  test('the signature is what openssl computes', () => {
    expect(query).toBe(`mcp_artifact_exp=${EXP}&mcp_artifact_sig=${DOWNLOAD_SIGNATURE}`);
  });

  test('valid up to and including the last second', () => {
    expect(checked()).toBe('valid');
    expect(checked({}, EXP * 1000 + 999)).toBe('valid');
    expect(checked({}, EXP * 1000 + 1000)).toBe('expired');
  });

  test.each([
    { serverId: 'other' },
    { sessionId: '4e'.repeat(16) },
    { artifactId: '0c'.repeat(16) },
    { filename: 'shot.jpg' },
    { filename: '' },
    { filename: `shot.png\n${EXP}` },
  ])('not for %j', (changes) => {
    expect(checked(changes)).toBe('invalid');
  });

  test('forged, truncated, twice, without', () => {
    expect(checked({}, 0, query.replace(`${EXP}`, `${EXP + 1}`))).toBe('invalid');
    expect(checked({}, 0, query.slice(0, -1))).toBe('invalid');
    expect(checked({}, 0, `${query}&mcp_artifact_exp=${EXP}`)).toBe('invalid');
    expect(checked({}, 0, `mcp_artifact_exp=${EXP}`)).toBe('invalid');
    expect(checked({}, 0, `mcp_artifact_sig=${DOWNLOAD_SIGNATURE}`)).toBe('invalid');
    expect(checked({}, 0, 'session_id=x')).toBe('absent');
  });

  test('an upload URL opens no download', () => {
    const sig = uploadQuery(SECRET, { ...upload, exp: EXP, nonce }).slice(-64);
    expect(checked({}, 0, `mcp_artifact_exp=${EXP}&mcp_artifact_sig=${sig}`)).toBe('invalid');
  });
});

describe('a session in a URL', () => {
  const { sessionId } = upload;
  const sealed = sealSession(SECRET, sessionId);

  test('is known to who has the secret only, and looks different each time', () => {
    expect(sealed).toMatch(/^[\w-]{59}$/);
    expect(Buffer.from(sealed, 'base64url').toString('hex')).not.toContain(sessionId);
    expect(sealSession(SECRET, sessionId)).not.toBe(sealed);
    expect(openSession(SECRET, sealed)).toBe(sessionId);
    expect(openSession('other', sealed)).toBeUndefined();
  });

  test.each([
    '',
    'x',
    sessionId,
    sealed.slice(1),
    `${sealed}AAAA`,
    (sealed.startsWith('A') ? 'B' : 'A') + sealed.slice(1),
    'A'.repeat(59),
  ])('is none when it was changed: %s', (changed) => {
    expect(openSession(SECRET, changed)).toBeUndefined();
  });
});
