import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import { API_VERSION } from './api.ts';
import type { Manifest } from './testing.ts';

/** What the API server answered. */
export interface Answer {
  readonly code: number;
  readonly body: Record<string, unknown>;
  /** What it says when it refused, with the paths of all fields. */
  readonly message: string;
}

/** Asks an API server directly, which is a hundred times faster than a kubectl for each question. */
export class ResourceApi {
  private readonly agent: Agent;
  private readonly url: string;
  private readonly token: string;

  /** @param kubeconfig path of a kubeconfig with a token and a certificate authority */
  constructor(kubeconfig: string) {
    const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8')) as {
      clusters: [{ cluster: { server: string; 'certificate-authority': string } }];
      users: [{ user: { token: string } }];
    };
    const [{ cluster }] = clusters;
    this.url = cluster.server;
    this.token = users[0].user.token;
    this.agent = new Agent({ connect: { ca: readFileSync(cluster['certificate-authority']) } });
  }

  /** As `kubectl create`: unknown fields are errors. */
  async create(resource: Manifest, { dryRun = false } = {}): Promise<Answer> {
    const query = `fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
    return this.ask('POST', `${collection(resource)}?${query}`, resource);
  }

  read = (resource: Manifest): Promise<Answer> => this.ask('GET', address(resource));

  /** A merge patch, as `kubectl patch --type=merge`. */
  patch = (resource: Manifest, change: object): Promise<Answer> =>
    this.ask('PATCH', `${address(resource)}?fieldValidation=Strict`, change, 'application/merge-patch+json');

  delete = (resource: Manifest): Promise<Answer> => this.ask('DELETE', address(resource));

  close = (): Promise<void> => this.agent.close();

  private async ask(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    type = 'application/json',
  ) {
    const { statusCode, body: answer } = await request(`${this.url}${path}`, {
      method,
      dispatcher: this.agent,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': type },
      signal: AbortSignal.timeout(20_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as Record<string, unknown>;
    return { code: statusCode, body: json, message: statusCode < 300 ? '' : String(json['message']) };
  }
}

const collection = ({ kind }: Manifest): string => `/apis/${API_VERSION}/namespaces/default/${kind.toLowerCase()}s`;
const address = (resource: Manifest): string => `${collection(resource)}/${resource.metadata.name}`;
