import type { SessionRecord } from '../state/state-store.ts';
import type { InventoryRequest } from './tool-inventory.ts';
import { listingFor } from './listing-for.ts';
import { invalidateSession, renew } from './session-upstream.ts';
import type { ToolSource } from './tool-source.ts';
import type { Turn } from './turn.ts';

/** The upstream's tools as the client of a turn is to see them. */
export class TurnTools implements ToolSource {
  readonly #turn: Turn;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  get reply(): ToolSource['reply'] {
    return this.#turn.incoming.reply;
  }

  get store(): ToolSource['store'] {
    return this.#turn.parts.store;
  }

  get clientKey(): string {
    const { mount, incoming } = this.#turn;
    return mount.headers.clientKey(incoming.headers);
  }

  timeoutOf(tool: string | undefined): number | null {
    return this.#turn.mount.timeoutOf(tool);
  }

  request(record: SessionRecord): InventoryRequest {
    return listingFor(this.#turn, record);
  }

  renew(record: SessionRecord): Promise<SessionRecord> {
    return renew(this.#turn, record);
  }

  invalidate(record: SessionRecord, reason: string): Promise<void> {
    return invalidateSession(this.#turn, record, reason);
  }
}
