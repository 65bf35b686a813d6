import { ApiError, type KubernetesApi, type KubernetesObject } from '../kubernetes/kubernetes.ts';
import { microTime } from '../kubernetes/micro-time.ts';
import { EVENTS } from '../kubernetes/resources.ts';

/** An event of an object, before it is written. */
export interface NewEvent {
  readonly type: 'Normal' | 'Warning';
  /** One word in CamelCase. */
  readonly reason: string;
  /** What was being done, in CamelCase. */
  readonly action: string;
  readonly message: string;
}

interface Series {
  readonly object: string;
  /** Undefined while it is being written. */
  name: string | undefined;
  count: number;
  firstAt: number;
  writtenAt: number;
}

/** Of the API: bytes of UTF-8. */
const MAX_NOTE_BYTES = 1_024;
const MAX_NAME = 253;
/** A repetition is written down so often at most. */
const REPEAT_MS = 5 * 60_000;
/** The API server drops events an hour after their last change: a repetition after that is a new one. */
const KEPT_MS = 50 * 60_000;
/** Texts that change every time must not fill the cluster with events of one object. */
const MAX_NEW_PER_OBJECT = 25;
const MAX_SERIES = 2_000;
const MAX_ON_THE_WAY = 100;

/**
 * Writes Events (events.k8s.io/v1). An event that repeats for the same object is one Event with a count.
 * Recording never fails and never waits; what cannot be written is left out.
 */
export class EventRecorder {
  readonly #api: KubernetesApi;
  readonly #instance: string;
  readonly #now: () => Date;
  readonly #suffix: () => string;
  readonly #onError: (error: unknown) => void;
  readonly #series = new Map<string, Series>();
  readonly #onTheWay = new Set<Promise<void>>();

  constructor(options: {
    api: KubernetesApi;
    /** Which process writes, such as the pod's name. */
    instance: string;
    /** A text of letters and digits that no other call gave, at most 40 characters. */
    suffix: () => string;
    now?: () => Date;
    onError?: (error: unknown) => void;
  }) {
    this.#api = options.api;
    this.#instance = options.instance.slice(0, 128);
    this.#suffix = options.suffix;
    this.#now = options.now ?? (() => new Date());
    this.#onError = options.onError ?? (() => {});
  }

  record(object: KubernetesObject, event: NewEvent): void {
    const now = this.#now();
    const id = JSON.stringify([idOf(object), event.type, event.reason, event.message]);
    const known = this.#series.get(id);
    if (known === undefined || now.getTime() - known.writtenAt >= KEPT_MS) {
      this.#begin(id, object, event, now);
      return;
    }
    known.count += 1;
    // Those that are asked for stay.
    this.#series.delete(id);
    this.#series.set(id, known);
    const written = now.getTime() - known.writtenAt;
    if (known.name === undefined || written < REPEAT_MS || this.#onTheWay.size >= MAX_ON_THE_WAY) return;
    known.writtenAt = now.getTime();
    const name = { name: known.name, namespace: object.metadata.namespace };
    const series = { count: known.count, lastObservedTime: microTime(now) };
    this.#send(id, async () => void (await this.#api.merge({ series }, EVENTS, name)));
  }

  #begin(id: string, object: KubernetesObject, event: NewEvent, now: Date): void {
    const owner = idOf(object);
    if (this.#newOf(owner, now) >= MAX_NEW_PER_OBJECT || this.#onTheWay.size >= MAX_ON_THE_WAY) return;
    const series: Series = {
      object: owner,
      name: undefined,
      count: 1,
      firstAt: now.getTime(),
      writtenAt: now.getTime(),
    };
    this.#series.delete(id);
    this.#series.set(id, series);
    const [oldest] = this.#series.keys();
    if (this.#series.size > MAX_SERIES && oldest !== undefined) this.#series.delete(oldest);
    const body = eventOf(object, event, { suffix: this.#suffix(), instance: this.#instance, now });
    this.#send(id, async () => {
      const created = await this.#api.create(body, EVENTS);
      series.name = created.metadata.name;
    });
  }

  #newOf(object: string, now: Date): number {
    let count = 0;
    for (const series of this.#series.values()) {
      if (series.object === object && now.getTime() - series.firstAt < KEPT_MS) count += 1;
    }
    return count;
  }

  #send(id: string, write: () => Promise<void>): void {
    const sent = write()
      .catch((error: unknown) => {
        // The next time begins anew; an Event that is gone was only cleaned up.
        this.#series.delete(id);
        if (!(error instanceof ApiError && error.code === 404)) this.#onError(error);
      })
      .finally(() => this.#onTheWay.delete(sent));
    this.#onTheWay.add(sent);
  }

  /** Waits for what is on its way. The API ends every request by itself. */
  async flush(): Promise<void> {
    await Promise.all(this.#onTheWay);
  }

  /** Number of series remembered. */
  get size(): number {
    return this.#series.size;
  }
}

function eventOf(
  object: KubernetesObject,
  event: NewEvent,
  by: { readonly suffix: string; readonly instance: string; readonly now: Date },
): KubernetesObject {
  const { name, namespace, uid, resourceVersion } = object.metadata;
  return {
    apiVersion: EVENTS.apiVersion,
    kind: EVENTS.kind,
    metadata: { name: `${name.slice(0, MAX_NAME - 41).replace(/[-.]+$/, '')}.${by.suffix}`, namespace },
    eventTime: microTime(by.now),
    reportingController: 'mcpadapter.io/operator',
    reportingInstance: by.instance,
    type: event.type,
    reason: event.reason.slice(0, 128),
    action: event.action.slice(0, 128),
    note: inBytes(event.message, MAX_NOTE_BYTES),
    regarding: { apiVersion: object.apiVersion, kind: object.kind, name, namespace, uid, resourceVersion },
  };
}

/** Cut between characters. */
function inBytes(text: string, limit: number): string {
  if (Buffer.byteLength(text) <= limit) return text;
  const cut = Buffer.from(text).subarray(0, limit - Buffer.byteLength('…'));
  return `${new TextDecoder().decode(cut, { stream: true })}…`;
}

function idOf({ metadata }: KubernetesObject): string {
  return metadata.uid ?? `${metadata.namespace ?? ''}/${metadata.name}`;
}
