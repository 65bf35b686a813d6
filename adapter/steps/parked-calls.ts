import { randomUUID } from 'node:crypto';

import { type OwnerLeaseDeps, succeed } from '../bridge/parked/owner-lease.ts';
import { ReplicaLease } from '../bridge/parked/replica-lease.ts';
import { ParkedCall } from '../bridge/parked/parked-call.ts';
import { ParkingPlaces } from '../bridge/parked/parking-places.ts';
import { ResumedCall } from '../bridge/parked/resumed-call.ts';
import { roundLock } from '../bridge/parked/parked-entry.ts';
import { isParkedState, openParked, type ParkedState, sealParked } from '../bridge/parked/parked-state.ts';
import { AdapterError, rpcErrorText } from '../errors.ts';
import { errorResult } from '../exchange/edited-call.ts';
import { completeCall } from '../exchange/answers/own-result.ts';
import type { Request } from '../exchange/message.ts';
import { locate, members } from '../exchange/scanning/json-scan.ts';
import type { Bridge } from '../mount/mount.ts';
import { answer } from '../path/answer.ts';
import { ANSWERED, type Ending } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { StateStore } from '../state/state-store.ts';
import { isOwnState, paramsDigest } from '../uploads/question-state.ts';
import { META } from '../exchange/protocol-meta.ts';

export interface ParkedCallsDeps {
  readonly serverId: string;
  readonly bridge: Pick<Bridge, 'answer' | 'position' | 'abandon' | 'limits'>;
  readonly bus: MessageBus;
  readonly store: Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder' | 'secret' | 'now'>;
  readonly known: (error: unknown) => AdapterError;
}

/** Only these may ask something (MCP 2026-07-28, multi round-trip requests). */
const ASKING = new Set(['tools/call', 'prompts/get', 'resources/read']);
const SECRET = 'bridge';

/**
 * Calls of clients without sessions that an older server asks something in the middle of: the client gets the questions as
 * `input_required`, and brings its answers, to any replica, by making the call again.
 */
export class ParkedCalls implements Step {
  readonly #deps: ParkedCallsDeps;
  readonly #owners: OwnerLeaseDeps;
  #secret: Promise<string> | undefined;
  readonly #places = new ParkingPlaces();

  constructor(deps: ParkedCallsDeps) {
    this.#deps = deps;
    const { store, serverId } = deps;
    this.#owners = { store, serverId, replica: new ReplicaLease(store) };
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { request, isBridged, isNested } = operation;
    if (!isBridged || isNested || request === undefined || !ASKING.has(request.method)) {
      next(operation, reply);
      return undefined;
    }
    const state = request.params['requestState'];
    if (isParkedState(state)) return this.#goOn(operation, reply, next, state);
    if (state !== undefined && !isOwnState(state)) throw invalid('The requestState is none of this server.');
    this.#begin(operation, reply, next, 0);
    return undefined;
  }

  /** @param taken the exchange of a call that another replica has begun, and this one has taken over */
  #begin(operation: Operation, reply: Reply, next: Send, rounds: number, taken?: string): void {
    const { serverId, bridge, bus, store, known } = this.#deps;
    const { idText, method, params } = operation.request as Request;
    const exchange = taken ?? randomUUID();
    operation.exchange = exchange;
    const { principal } = operation.caller;
    const parked = new ParkedCall(
      {
        serverId,
        bus,
        owners: this.#owners,
        limits: bridge.limits,
        rounds,
        asksUrls: asksUrls(params),
        isTakenOver: taken !== undefined,
        abandon: (name) => bridge.abandon(name),
        answer: (name, text) => bridge.answer(name, text),
        seal: async (round) => {
          const digest = paramsDigest(operation.body.text);
          const expiresAt = store.now() + bridge.limits.ttlMs;
          const position = bridge.position(exchange);
          const state: ParkedState = { serverId, principal, method, digest, expiresAt, exchange, position, ...round };
          return sealParked(await this.#key(), state);
        },
        errorText: ({ error }: Ending) => {
          const { code, message, data } = known(error ?? new AdapterError('upstream_failed'));
          return rpcErrorText(code, message, idText, data);
        },
        take: () => this.#places.take(principal),
        leave: () => this.#places.leave(principal),
        onError: (error) => void known(error),
      },
      operation,
      exchange,
      reply,
    );
    next(operation, parked);
  }

  async #goOn(operation: Operation, reply: Reply, next: Send, sealed: string): Promise<void> {
    const { store, serverId, bridge } = this.#deps;
    const request = operation.request as Request;
    const state = openParked(await this.#key(), sealed);
    const isTheirs =
      state !== undefined &&
      state.serverId === serverId &&
      state.principal === operation.caller.principal &&
      state.method === request.method &&
      state.digest === paramsDigest(operation.body.text);
    if (!isTheirs) throw invalid('The requestState is not one that was given for this call; make the call anew.');
    if (state.expiresAt < store.now()) throw invalid('The requestState has expired; make the call anew.');
    const results = resultsIn(operation.body.text);
    const keys = Object.keys(state.ids);
    const { exchange, round } = state;
    const resumed = { serverId, bus: this.#deps.bus, owners: this.#owners };
    const missing = keys.find((key) => results[key] === undefined);
    if (missing !== undefined) {
      const repeated = { type: 'repeat', round, carrier: `again:${randomUUID()}` } as const;
      const isHeld = !state.isEnded && (await new ResumedCall(resumed, operation, reply, state).run(repeated));
      if (isHeld) return;
      throw invalid(`inputResponses has no answer for ${JSON.stringify(missing)}.`);
    }
    // What is answered twice would be answered by whoever is faster.
    if (!(await store.tryLock(roundLock(serverId, exchange, round), randomUUID(), bridge.limits.ttlMs))) {
      throw invalid('The requestState was used already; make the call anew.');
    }
    if (!state.isEnded) {
      const order = { type: 'answers', round, results } as const;
      const isHeld = await new ResumedCall(resumed, operation, reply, state).run(order);
      if (!isHeld) await this.#takeOver(operation, reply, next, state, results);
      return;
    }
    const refused = keys.find((key) => action(results[key]) !== 'accept');
    if (refused === undefined) return this.#begin(operation, reply, next, round);
    if (request.method !== 'tools/call') throw new AdapterError('cancelled', 'The user has not opened the page.');
    const result = completeCall(errorResult('The user has not opened the page that this tool needs.'));
    return answer(reply, request.idText, result, ANSWERED);
  }

  /** Goes on with a call whose replica is gone, where the upstream can tell what it has said since. */
  async #takeOver(
    operation: Operation,
    reply: Reply,
    next: Send,
    { exchange, round, position, ids }: ParkedState,
    results: Readonly<Record<string, string>>,
  ): Promise<void> {
    if (position?.lastEventId === undefined) {
      const detail = 'The replica that held this call is gone; the call may have had effects.';
      throw new AdapterError('upstream_failed', detail);
    }
    if (!(await succeed(this.#owners, exchange))) {
      throw new AdapterError('upstream_failed', 'Another replica holds this call.');
    }
    const answers = Object.entries(ids).map(([key, id]) => `{"jsonrpc":"2.0","id":${id},"result":${results[key]}}`);
    operation.resumed = { position, answers };
    this.#begin(operation, reply, next, round, exchange);
  }

  /** Shared by all replicas. */
  #key(): Promise<string> {
    if (this.#secret === undefined) {
      this.#secret = this.#deps.store.secret(SECRET);
      this.#secret.catch(() => {
        this.#secret = undefined;
      });
    }
    return this.#secret;
  }
}

const invalid = (why: string): AdapterError => new AdapterError('request_state_invalid', why);

/** The answers of a request (JSON text): JSON texts by key. */
function resultsIn(text: string): Record<string, string> {
  const span = locate(text, ['params', 'inputResponses']);
  const results: Record<string, string> = Object.create(null) as Record<string, string>;
  if (span === undefined) return results;
  for (const { key, start, end } of members(text, span.start)) results[key] = text.slice(start, end);
  return results;
}

/** What the user did with a question (JSON text of the result). */
function action(result: string | undefined): unknown {
  const span = result === undefined ? undefined : locate(result, ['action']);
  return span && result ? JSON.parse(result.slice(span.start, span.end)) : undefined;
}

function asksUrls(params: Request['params']): boolean {
  const meta = params['_meta'] as Record<string, unknown> | undefined;
  const capabilities = meta?.[META.clientCapabilities] as Record<string, unknown> | undefined;
  const elicitation = capabilities?.['elicitation'] as Record<string, unknown> | undefined;
  return typeof elicitation?.['url'] === 'object' && elicitation['url'] !== null;
}
