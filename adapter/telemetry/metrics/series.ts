import type { Attributes, HrTime } from '@opentelemetry/api';
import type { Histogram as HistogramValue } from '@opentelemetry/sdk-metrics';

/** Values of attributes; those that are undefined are left out. */
export type Labels<Name extends string = string> = { readonly [N in Name]?: string | number | boolean | undefined };

export interface CounterSeries {
  add(value: number): void;
}

export interface HistogramSeries {
  record(value: number): void;
}

/** A series is found by its labels once, and then used without looking. It stays valid for ever. */
export interface Counter<Name extends string> {
  series(labels: Labels<Name>): CounterSeries;
  add(value: number, labels: Labels<Name>): void;
}

export interface Histogram<Name extends string> {
  series(labels: Labels<Name>): HistogramSeries;
  record(value: number, labels: Labels<Name>): void;
}

/** As OpenTelemetry's SDKs mark the series of all that found no place. */
const OVERFLOW: Attributes = { 'otel.metric.overflow': true };

/** The series of one metric by their labels. */
export class SeriesSet<P> {
  readonly all: P[] = [];
  readonly #byLabels = new Map<string, P>();
  readonly #names: readonly string[];
  readonly #limit: number;
  readonly #make: (attributes: Attributes) => P;
  #overflow: P | undefined;

  constructor(names: readonly string[], limit: number, make: (attributes: Attributes) => P) {
    this.#names = names;
    this.#limit = limit;
    this.#make = make;
  }

  of(labels: Labels): P {
    const id = JSON.stringify(this.#names.map((name) => labels[name]));
    let found = this.#byLabels.get(id);
    if (found === undefined) {
      if (this.#byLabels.size >= this.#limit) return (this.#overflow ??= this.#keep(OVERFLOW));
      found = this.#keep(attributesOf(this.#names, labels));
      this.#byLabels.set(id, found);
    }
    return found;
  }

  #keep(attributes: Attributes): P {
    const made = this.#make(attributes);
    this.all.push(made);
    return made;
  }
}

export interface Point<T> {
  readonly attributes: Attributes;
  readonly startTime: HrTime;
  /** The value as it is now, which later changes leave alone. */
  value(): T;
}

export class Sum implements CounterSeries, Point<number> {
  readonly attributes: Attributes;
  readonly startTime: HrTime;
  #value = 0;

  constructor(attributes: Attributes, startTime: HrTime) {
    this.attributes = attributes;
    this.startTime = startTime;
  }

  add(value: number): void {
    // A counter that falls, or is no number any more, is of no use to anybody.
    if (value >= 0) this.#value += value;
  }

  value(): number {
    return this.#value;
  }
}

export class Distribution implements HistogramSeries, Point<HistogramValue> {
  readonly attributes: Attributes;
  readonly startTime: HrTime;
  readonly #boundaries: readonly number[];
  readonly #counts: number[];
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  constructor(attributes: Attributes, startTime: HrTime, boundaries: readonly number[]) {
    this.attributes = attributes;
    this.startTime = startTime;
    this.#boundaries = boundaries;
    this.#counts = Array.from({ length: boundaries.length + 1 }, () => 0);
  }

  record(value: number): void {
    if (!(value >= 0)) return;
    const boundaries = this.#boundaries;
    let bucket = 0;
    // Most durations are short, and belong to one of the first.
    while (bucket < boundaries.length && value > (boundaries[bucket] as number)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#count += 1;
    this.#sum += value;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  value(): HistogramValue {
    const buckets = { boundaries: [...this.#boundaries], counts: [...this.#counts] };
    const extremes = this.#count === 0 ? {} : { min: this.#min, max: this.#max };
    return { buckets, count: this.#count, sum: this.#sum, ...extremes };
  }
}

/** Of the labels only those names, in their order. */
export function attributesOf(names: readonly string[], labels: Labels): Attributes {
  const attributes: Attributes = {};
  for (const name of names) {
    const value = labels[name];
    if (value !== undefined) attributes[name] = value;
  }
  return attributes;
}
