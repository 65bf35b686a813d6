import { setImmediate } from 'node:timers/promises';

import { CompactEncrypt, exportSPKI, importSPKI, SignJWT } from 'jose';
import { beforeEach, describe, expect, test, vi } from 'vitest';

import { BearerTokens } from './bearer-tokens.ts';
import type { Identity } from './identity.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { AUDIENCE, claims, ISSUER, SampleIssuer, type SampleKey, sampleKey, signed } from './testing/sample-issuer.ts';

const key = await sampleKey('one');
const rsa = await sampleKey('rsa', 'RS256');
const stranger = await sampleKey('one');
const unknown = await sampleKey('unknown');
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const seconds = (): number => Math.floor(Date.now() / 1000);

let issuer: SampleIssuer;
let tokens: BearerTokens;
let clock: number;

function open(introspects = false): BearerTokens {
  issuer = new SampleIssuer(key, rsa);
  clock = 0;
  const introspection = { endpoint: `${ISSUER}/introspect`, client_id: 'mcp', client_secret: 's3cret' };
  return new BearerTokens({
    oauth: { issuer: ISSUER, algorithms: ['ES256', 'RS256'], introspection: introspects ? introspection : null },
    audiences: [AUDIENCE],
    keys: new IssuerKeys({ issuer: ISSUER, jwksUri: null, client: issuer, log: () => undefined, now: () => clock }),
    client: issuer,
    now: () => Date.now() + clock,
  });
}

beforeEach(() => {
  tokens = open();
});

const identify = async (token: string): Promise<Identity> => tokens.identity(token);

describe('a good token', () => {
  test('names the subject, the client, the scopes and the claims', async () => {
    const identity = await identify(await signed(key, { client_id: 'inspector', groups: ['engineering'] }));
    expect(identity).toMatchObject({ name: 'user:anna', client: 'inspector', claims: { groups: ['engineering'] } });
    expect([...identity.scopes]).toEqual(['files', 'tools']);
  });

  test.each([
    ['of a client that acts for itself', { sub: 'worker', client_id: 'worker' }, 'client:worker'],
    ['without a subject', { sub: undefined, azp: 'worker' }, 'client:worker'],
    ['for several audiences', { aud: ['other', AUDIENCE] }, 'user:anna'],
    ['that expired less than a minute ago', { exp: seconds() - 30 }, 'user:anna'],
    ['that begins within a minute', { nbf: seconds() + 30 }, 'user:anna'],
  ])('%s', async (_what, changes, name) => {
    expect((await identify(await signed(key, changes))).name).toBe(name);
  });

  test.each([['JWT'], ['at+jwt'], ['application/at+jwt'], ['AT+JWT'], [undefined]])('of the type %s', async (typ) => {
    expect((await identify(await signed(key, {}, { typ }))).name).toBe('user:anna');
  });

  test.each([
    ['scope', { scope: 'a b' }],
    ['scp as a text', { scope: undefined, scp: 'a b' }],
    ['scp as a list', { scope: undefined, scp: ['a', 'b'] }],
  ])('has its scopes in %s', async (_what, changes) => {
    expect([...(await identify(await signed(key, changes))).scopes]).toEqual(['a', 'b']);
  });

  test('is verified once, and then known without a promise until it expires', async () => {
    const token = await signed(key);
    await identify(token);
    expect(tokens.identity(token)).toMatchObject({ name: 'user:anna' });
    clock = 121_000;
    await expect(identify(token)).rejects.toThrow(/exp/);
  });

  test('is no longer good once its key is withdrawn', async () => {
    const token = await signed(rsa);
    await identify(token);
    issuer.keys = [key];
    clock = 31_000;
    await expect(identify(await signed(unknown))).rejects.toThrow(/no applicable key/);
    await expect(identify(token)).rejects.toMatchObject({ name: 'InvalidToken' });
  });

  test.each([
    ['under the same id', 'rsa'],
    ['where keys have no ids', undefined],
  ])('is no longer good once another key has taken the place of its own, %s', async (_where, kid) => {
    const [old, next] = [await sampleKey('rsa', 'RS256'), await sampleKey('rsa', 'RS256')].map((one) => ({
      ...one,
      jwk: { ...one.jwk, kid },
    })) as [SampleKey, SampleKey];
    issuer.keys = [key, old];
    const token = await signed(old, { exp: seconds() + 4000 }, { kid });
    await identify(token);
    issuer.keys = [key, next];
    clock = 600_001;
    await identify(token);
    await vi.waitFor(() => expect(issuer.reads).toBe(2));
    await expect(identify(token)).rejects.toMatchObject({ name: 'InvalidToken' });
    expect((await identify(await signed(next, { exp: seconds() + 4000 }, { kid }))).name).toBe('user:anna');
  });

  test('stays known where its key is described in other words', async () => {
    const token = await signed(rsa, { exp: seconds() + 4000 });
    await identify(token);
    const { kid, alg, ...others } = rsa.jwk;
    issuer.keys = [{ ...rsa, jwk: { x5t: 'of a certificate', alg, ...others, kid } }, key];
    clock = 600_001;
    void tokens.identity(token);
    await vi.waitFor(() => expect(issuer.reads).toBe(2));
    await setImmediate();
    expect(tokens.identity(token)).toMatchObject({ name: 'user:anna' });
  });

  test('is no longer good ten minutes after its key was withdrawn, though no other token comes', async () => {
    const token = await signed(rsa, { exp: seconds() + 4000 });
    await identify(token);
    issuer.keys = [key];
    clock = 600_001;
    await identify(token);
    await vi.waitFor(() => expect(issuer.reads).toBe(2));
    await expect(identify(token)).rejects.toMatchObject({ name: 'InvalidToken' });
  });

  test('T2: two tokens of one person are one principal', async () => {
    const [first, second] = [await identify(await signed(key)), await identify(await signed(rsa, { jti: 'other' }))];
    expect(first.key).toBe(second.key);
  });

  test('two people of one issuer, and a client and a person of one name, are two principals', async () => {
    const all = [{ sub: 'anna' }, { sub: 'bob' }, { sub: 'anna', client_id: 'anna' }];
    const found = await Promise.all(all.map(async (one) => (await identify(await signed(key, one))).key));
    expect(new Set(found).size).toBe(3);
  });
});

describe('T4: a bad token proves nothing', () => {
  const hmac = async (publicKey: SampleKey): Promise<string> => {
    const pem = await exportSPKI(await importSPKI(await spki(publicKey), 'RS256'));
    return new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: publicKey.kid }).sign(Buffer.from(pem));
  };
  const spki = async ({ jwk }: SampleKey): Promise<string> => {
    const { createPublicKey } = await import('node:crypto');
    return createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' }).toString();
  };

  test.each<[string, () => string | Promise<string>]>([
    ['no signature', () => `${base64url({ alg: 'none' })}.${base64url(claims())}.`],
    ['no signature, in other letters', () => `${base64url({ alg: 'NonE', kid: 'one' })}.${base64url(claims())}.`],
    ['HS256 with the public key', () => hmac(rsa)],
    ['an algorithm that is not configured', async () => signed(await sampleKey('one', 'ES384'))],
    ['another issuer', () => signed(key, { iss: 'https://evil.example' })],
    ['the issuer with a slash', () => signed(key, { iss: `${ISSUER}/` })],
    ['no issuer', () => signed(key, { iss: undefined })],
    ['another audience', () => signed(key, { aud: 'https://mcp.example.com/mcp/other' })],
    ['the start of the audience', () => signed(key, { aud: 'https://mcp.example.com' })],
    ['no audience', () => signed(key, { aud: undefined })],
    ['the type of an id token', () => signed(key, {}, { typ: 'id+jwt' })],
    ['the type of a logout token', () => signed(key, {}, { typ: 'logout+jwt' })],
    ['a time that is over', () => signed(key, { exp: seconds() - 61 })],
    ['no end', () => signed(key, { exp: undefined })],
    ['an end that is a text', () => signed(key, { exp: '9999999999' })],
    ['a time that has not come', () => signed(key, { nbf: seconds() + 90 })],
    ['a birth in the future', () => signed(key, { iat: seconds() + 90 })],
    ['a key of somebody else under a known id', () => signed(stranger)],
    ['an unknown key', () => signed(unknown)],
    ['a key of its own in the header', () => signed(stranger, {}, { jwk: stranger.jwk })],
    ['the place of its key in the header', () => signed(unknown, {}, { jku: 'https://evil.example/keys' })],
    [
      'a critical header that nobody knows',
      async () => (await signed(key)).replace(/^[^.]+/, base64url({ alg: 'ES256', kid: 'one', crit: ['x'], x: 1 })),
    ],
    ['a subject that is no text', () => signed(key, { sub: 5 })],
    ['neither a subject nor a client', () => signed(key, { sub: undefined })],
    [
      'a token in a token',
      async () =>
        new SignJWT({ nested: await signed(key) })
          .setProtectedHeader({ alg: 'ES256', kid: 'one', cty: 'JWT' })
          .sign(key.privateKey),
    ],
    [
      'a token that is encrypted',
      () =>
        new CompactEncrypt(Buffer.from('x'))
          .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
          .encrypt(Buffer.alloc(32)),
    ],
    [
      'a changed payload',
      async () => (await signed(key)).replace(/\.[^.]+\./, `.${base64url(claims({ sub: 'root' }))}.`),
    ],
    ['text', () => 'opaque'],
    ['parts that are no JSON', () => 'a.b.c'],
  ])('%s', async (_what, make) => {
    await expect(identify(await make())).rejects.toMatchObject({ name: 'InvalidToken' });
  });
});

describe('the keys of the issuer', () => {
  test('are found where its metadata says, and read once for many tokens', async () => {
    const made = await Promise.all(['anna', 'bob', 'cy'].map((sub) => signed(key, { sub })));
    await Promise.all(made.map(identify));
    expect(issuer.asked).toEqual([
      'https://id.example.com/.well-known/oauth-authorization-server/realms/mcp',
      `${ISSUER}/.well-known/openid-configuration`,
      `${ISSUER}/keys`,
    ]);
  });

  test('T17: a flood of unknown key ids reads them once in 30 seconds', async () => {
    await identify(await signed(key));
    for (let second = 0; second < 30; second += 1) {
      clock = second * 1000;
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await expect(identify(await signed(unknown, {}, { kid: `made-up-${second}` }))).rejects.toThrow();
    }
    expect(issuer.reads).toBe(2);
    clock = 30_000;
    await expect(identify(await signed(unknown))).rejects.toThrow();
    expect(issuer.reads).toBe(3);
  });

  test('that are new are found at once, however short ago the others were read', async () => {
    await identify(await signed(key));
    const next = await sampleKey('next');
    issuer.keys = [key, next];
    const made = await Promise.all(['a', 'b', 'c'].map((sub) => signed(next, { sub })));
    expect((await Promise.all(made.map(identify))).map(({ name }) => name)).toEqual(['user:a', 'user:b', 'user:c']);
    expect(issuer.reads).toBe(2);
  });

  test('go on while the issuer is away; tokens of others are told that it is', async () => {
    await identify(await signed(key));
    issuer.isAway = true;
    clock = 600_001;
    await expect(identify(await signed(key, { sub: 'bob', exp: seconds() + 4000 }))).resolves.toMatchObject({
      name: 'user:bob',
    });
    await vi.waitFor(() => expect(issuer.asked.length).toBeGreaterThan(3));
    await expect(identify(await signed(unknown, { exp: seconds() + 4000 }))).rejects.toMatchObject({
      name: 'IssuerUnavailable',
    });
  });

  describe('while the issuer is away for eleven minutes', () => {
    const STEP_MS = 5_000;
    const OUTAGE_MS = 660_000;

    /** What comes of a token every five seconds: who it is, or why nobody knows. */
    async function outcomes(make: (step: number) => Promise<string>): Promise<Map<string, number>> {
      const seen = new Map<string, number>();
      for (; clock < OUTAGE_MS; clock += STEP_MS) {
        // oxlint-disable-next-line no-await-in-loop -- time goes on between two
        const [outcome] = await Promise.allSettled([identify(await make(clock / STEP_MS))]);
        const what = outcome.status === 'fulfilled' ? outcome.value.name : (outcome.reason as Error).name;
        seen.set(what, (seen.get(what) ?? 0) + 1);
      }
      return seen;
    }
    const metadataReads = (): number => issuer.asked.filter((url) => url.includes('oauth-authorization-server')).length;
    const late = { exp: seconds() + 3600 };

    test('every new token of a known key is good, and it is asked at most every 30 seconds', async () => {
      await identify(await signed(key));
      issuer.isAway = true;
      const steps = OUTAGE_MS / STEP_MS;
      expect([...(await outcomes((step) => signed(key, { ...late, jti: `${step}` })))]).toEqual([['user:anna', steps]]);
      expect(metadataReads()).toBeLessThanOrEqual(1 + 3);
    });

    test('every token of another key is told that it is away, and is good soon after its return', async () => {
      await identify(await signed(key));
      issuer.isAway = true;
      expect([...(await outcomes(() => signed(unknown, late)))]).toEqual([['IssuerUnavailable', OUTAGE_MS / STEP_MS]]);
      expect(metadataReads()).toBeLessThanOrEqual(1 + OUTAGE_MS / 30_000);
      issuer.isAway = false;
      issuer.keys = [key, unknown];
      clock += 30_000;
      expect((await identify(await signed(unknown, late))).name).toBe('user:anna');
    });

    test('where no key was ever read, nobody is let in before its return', async () => {
      issuer.isAway = true;
      expect([...(await outcomes(() => signed(key, late)))]).toEqual([['IssuerUnavailable', OUTAGE_MS / STEP_MS]]);
      issuer.isAway = false;
      expect((await identify(await signed(key, late))).name).toBe('user:anna');
    });
  });

  test('that are unknown are told apart from an issuer that is away, as long as it is', async () => {
    await identify(await signed(key));
    issuer.isAway = true;
    for (const sub of ['a', 'b', 'c']) {
      // oxlint-disable-next-line no-await-in-loop -- the second one is not asked about
      await expect(identify(await signed(unknown, { sub }))).rejects.toMatchObject({ name: 'IssuerUnavailable' });
    }
    expect(issuer.asked.filter((url) => url.endsWith('/oauth-authorization-server/realms/mcp'))).toHaveLength(2);
  });

  test('are asked for again five seconds after the issuer was away, and no sooner', async () => {
    issuer.isAway = true;
    const token = await signed(key);
    await expect(identify(token)).rejects.toMatchObject({ name: 'IssuerUnavailable' });
    issuer.isAway = false;
    await expect(identify(token)).rejects.toMatchObject({ name: 'IssuerUnavailable' });
    clock = 5_000;
    await expect(identify(token)).resolves.toMatchObject({ name: 'user:anna' });
  });

  test('are not taken from the metadata of another issuer', async () => {
    issuer.metadata = { issuer: 'https://evil.example' };
    await expect(identify(await signed(key))).rejects.toThrow(/not of https:\/\/id\.example\.com\/realms\/mcp/);
  });
});

describe('a token that is no JWT', () => {
  beforeEach(() => {
    tokens = open(true);
  });

  test('is asked about once a minute, however many requests bring it', async () => {
    issuer.tokens.set('opaque', { active: true, aud: AUDIENCE, sub: 'anna', scope: 'files' });
    const all = await Promise.all([identify('opaque'), identify('opaque'), identify('opaque')]);
    expect(all.map(({ name }) => name)).toEqual(['user:anna', 'user:anna', 'user:anna']);
    clock = 59_000;
    await identify('opaque');
    expect(issuer.asked).toHaveLength(1);
    clock = 61_000;
    issuer.tokens.delete('opaque');
    await expect(identify('opaque')).rejects.toMatchObject({ name: 'InvalidToken' });
    expect(issuer.asked).toHaveLength(2);
  });

  test.each([
    ['that is not active', { active: false }],
    ['for another audience', { active: true, aud: 'other', sub: 'anna' }],
    ['for no audience', { active: true, sub: 'anna' }],
    ['of another issuer', { active: true, aud: AUDIENCE, sub: 'anna', iss: 'https://evil.example' }],
    ['that has expired', { active: true, aud: AUDIENCE, sub: 'anna', exp: seconds() - 61 }],
    ['that is not good yet', { active: true, aud: AUDIENCE, sub: 'anna', nbf: seconds() + 90 }],
    ['of nobody', { active: true, aud: AUDIENCE }],
  ])('%s is refused', async (_what, answer) => {
    issuer.tokens.set('opaque', answer);
    await expect(identify('opaque')).rejects.toMatchObject({ name: 'InvalidToken' });
  });

  test('that is refused is not asked about again for ten seconds', async () => {
    await expect(identify('unknown')).rejects.toThrow();
    await expect(identify('unknown')).rejects.toThrow();
    expect(issuer.asked).toHaveLength(1);
  });

  test('T17: a flood of them displaces no token that is known', async () => {
    issuer.tokens.set('opaque', { active: true, aud: AUDIENCE, sub: 'anna' });
    await identify('opaque');
    for (let index = 0; index < 10_100; index += 1) {
      // oxlint-disable-next-line no-await-in-loop -- only so many may be asked about at once
      await identify(`made-up-${index}`).catch(() => undefined);
    }
    expect(tokens.identity('opaque')).toMatchObject({ name: 'user:anna' });
  });

  test('T17: many of them at once wait for no more than 32 answers', async () => {
    const all = await Promise.allSettled(Array.from({ length: 40 }, (_, index) => identify(`opaque-${index}`)));
    const names = all.map((one) => (one.status === 'rejected' ? (one.reason as Error).name : 'known'));
    expect(names.filter((name) => name === 'IssuerUnavailable')).toHaveLength(8);
  });
});
