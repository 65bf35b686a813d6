import { hostname } from 'node:os';

import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { type AccessWarning, accessWarnings } from './access-warnings.ts';
import { baseUrl, type Listening } from '../http/base-url.ts';
import { HostNames } from '../http/host-names.ts';
import type { Caller } from '../path/caller.ts';

/** Where the adapter is reached, and what is weak about who may come in there. */
export class Exposure {
  readonly #config: AdapterConfig;
  #hosts: HostNames | undefined;
  #listening: Listening;
  #warnings: readonly AccessWarning[] = [];

  constructor(config: AdapterConfig) {
    this.#config = config;
    this.#listening = config.core;
  }

  get warnings(): readonly AccessWarning[] {
    return this.#warnings;
  }

  /** Decides the names that it may be called by once it listens on `host`. */
  expose(host: string): HostNames {
    const { core } = this.#config;
    this.#warnings = accessWarnings(this.#config, host);
    this.#hosts = new HostNames({
      allowed: core.allowed_hosts,
      publicBaseUrl: core.public_base_url,
      boundHost: host,
      machine: hostname(),
    });
    return this.#hosts;
  }

  /** What `expose` was followed by. */
  listensAt(listening: Listening): void {
    this.#listening = listening;
  }

  /** Under which address the client of a request reaches the adapter, without a slash at the end. */
  readonly baseUrl = (request: Caller['request']): string => {
    // A proxy passes on what it was told.
    const isOurs = this.#hosts?.mayBeCalled(request.host) !== false;
    return baseUrl(this.#config.core.public_base_url, isOurs ? request : undefined, this.#listening);
  };
}
