import { Agent, request } from 'undici';

import { isObject } from '../../lib/json/json-object.ts';
import { parseJson } from '../../lib/json/json-limits.ts';
import { boundedText } from '../../lib/net/bounded-text.ts';
import { type ConnectRules, guardedConnector } from '../../lib/net/guarded-connect.ts';

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 256 << 10;
const JSON_LIMITS = { values: 10_000, depth: 32 };

/** The issuer could not be asked; who is calling is not known now. */
export class IssuerUnavailable extends Error {
  override readonly name = 'IssuerUnavailable';
}

/** Asks an authorization server. No redirect is followed, and no answer is long. */
export class IssuerClient {
  readonly #agent: Agent;

  constructor(rules: ConnectRules) {
    this.#agent = new Agent({ connect: guardedConnector({ timeout: TIMEOUT_MS }, rules), connections: 8 });
  }

  /** @returns undefined where there is nothing (404 and other refusals) */
  async get(url: string): Promise<Record<string, unknown> | undefined> {
    return this.#ask(url, { method: 'GET', headers: { accept: 'application/json' } });
  }

  /** @param user name and password, for HTTP Basic as OAuth has it (RFC 6749, section 2.3.1) */
  async post(
    url: string,
    form: Readonly<Record<string, string>>,
    user: readonly [string, string],
  ): Promise<Record<string, unknown> | undefined> {
    const pair = user.map((part) => new URLSearchParams([['', part]]).toString().slice(1)).join(':');
    return this.#ask(url, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
      },
      body: new URLSearchParams(form).toString(),
    });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #ask(
    url: string,
    options: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
  ): Promise<Record<string, unknown> | undefined> {
    const { host } = new URL(url);
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const { statusCode, body } = await request(url, { ...options, dispatcher: this.#agent, signal });
      if (statusCode >= 500 || statusCode === 429) throw new Error(`status ${statusCode}`);
      const text = await boundedText(body, MAX_BYTES);
      if (statusCode !== 200) return undefined;
      const document = parseJson(text, JSON_LIMITS);
      if (!isObject(document)) throw new Error('no JSON object');
      return document;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new IssuerUnavailable(`${host} does not answer as it should: ${why}`, { cause: error });
    }
  }
}
