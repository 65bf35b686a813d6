import type { IncomingHttpHeaders } from 'node:http';

import { AdapterError } from '../errors.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';

/** Every header of `client_headers.required` must be there. */
export class RequiredHeaders implements Step {
  readonly #names: readonly string[];

  /** @param names in lower case */
  constructor(names: readonly string[]) {
    this.#names = names;
  }

  send(operation: Operation, reply: Reply, next: Send): void {
    this.check(operation.caller.headers);
    next(operation, reply);
  }

  /** Throws `missing_client_header`. */
  check(headers: IncomingHttpHeaders): void {
    for (const name of this.#names) {
      const value = headers[name];
      if (value !== undefined && value !== '') continue;
      throw new AdapterError('missing_client_header', `The header ${name} is required by this server and is missing.`);
    }
  }
}
