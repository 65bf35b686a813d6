import { editDistance } from './edit-distance.ts';
import type { SearchBudget } from './search-budget.ts';

/** Shorter beginnings of words say nothing. */
const MIN_PREFIX = 3;
const PREFIX_WEIGHT = 0.3;
const FUZZY_WEIGHT = 0.2;
/** Of BM25+: how soon repetitions stop to count, how much the length of a field does, and what a term counts at least. */
const K = 1.2;
const B = 0.7;
const D = 0.5;
/** Steps for the place of a document among those that are found. */
const STEPS_OF_PLACE = 10;

/** About what they take up: a term that stands nowhere else in its field, and each document that it stands in. */
const TERM_BYTES = 250;
const POSTING_BYTES = 16;

/** Documents in their order, each followed by how often a term stands in it. */
type Postings = number[];

/** By document. */
export type Scores = Map<number, number>;

/**
 * Terms, and in which fields of which documents they stand. Searches are generators which stop when their budget is spent:
 * whatever the terms are, which somebody else chose, a search takes no longer and holds up nobody. An index that is full
 * takes no more of them.
 */
export class TermIndex<Field extends string> {
  readonly #fields: readonly Field[];
  readonly #weights: readonly number[];
  readonly #maxBytes: number;
  /** By field, then by term. */
  readonly #terms: readonly Map<string, Postings>[];
  readonly #byStart = new Map<string, string[]>();
  readonly #byLength: (string[] | undefined)[] = [];
  /** By field, then by document: how many different terms it has. */
  readonly #lengths: readonly number[][];
  readonly #totals: number[];
  #size = 0;
  #bytes = 0;

  /**
   * @param weights what a term counts by its field
   * @param maxBytes of memory, about
   */
  constructor(weights: Readonly<Record<Field, number>>, maxBytes: number) {
    this.#fields = Object.keys(weights) as Field[];
    this.#weights = this.#fields.map((field) => weights[field]);
    this.#maxBytes = maxBytes;
    this.#terms = this.#fields.map(() => new Map());
    this.#lengths = this.#fields.map(() => []);
    this.#totals = this.#fields.map(() => 0);
  }

  /** What it takes up in memory, about. */
  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#maxBytes;
  }

  /** Documents are numbered in the order in which they come. */
  add(termsIn: (field: Field) => readonly string[]): void {
    const document = this.#size++;
    for (const [field, name] of this.#fields.entries()) {
      const counts = new Map<string, number>();
      if (!this.isFull) for (const term of termsIn(name)) counts.set(term, (counts.get(term) ?? 0) + 1);
      for (const [term, count] of counts) {
        this.#postings(term, field).push(document, count);
        this.#bytes += POSTING_BYTES;
      }
      this.#lengths[field]?.push(counts.size);
      this.#totals[field] = (this.#totals[field] ?? 0) + counts.size;
    }
  }

  has(term: string): boolean {
    return this.#terms.some((ofField) => ofField.has(term));
  }

  /** What has this term. */
  exact(term: string, scores: Scores, budget: SearchBudget): void {
    budget.spend(1);
    this.#score(term, 1, scores, budget);
  }

  /** What has a longer term that begins with this one. */
  *beginning(start: string, scores: Scores, budget: SearchBudget): Generator<void, void> {
    if (start.length < MIN_PREFIX) return;
    for (const term of this.#byStart.get(start.slice(0, MIN_PREFIX)) ?? []) {
      if (budget.isSpent) return;
      budget.spend(1);
      if (budget.takesTurn()) yield;
      if (term.length === start.length || !term.startsWith(start)) continue;
      const more = term.length - start.length;
      this.#score(term, (PREFIX_WEIGHT * term.length) / (term.length + 0.3 * more), scores, budget);
    }
  }

  /** What has another term that differs in up to so many characters. */
  *like(word: string, most: number, scores: Scores, budget: SearchBudget): Generator<void, void> {
    if (most === 0) return;
    for (let length = Math.max(1, word.length - most); length <= word.length + most; length++) {
      for (const term of this.#byLength[length] ?? []) {
        if (budget.isSpent) return;
        budget.spend(length);
        if (budget.takesTurn()) yield;
        const distance = editDistance(word, term, most);
        if (distance === undefined || distance === 0) continue;
        this.#score(term, (FUZZY_WEIGHT * length) / (length + distance), scores, budget);
      }
    }
  }

  #postings(term: string, field: number): Postings {
    const known = this.#terms[field]?.get(term);
    if (known !== undefined) return known;
    if (!this.has(term)) {
      (this.#byLength[term.length] ??= []).push(term);
      if (term.length >= MIN_PREFIX) {
        const start = term.slice(0, MIN_PREFIX);
        const same = this.#byStart.get(start);
        if (same === undefined) this.#byStart.set(start, [term]);
        else same.push(term);
      }
    }
    const added: Postings = [];
    this.#terms[field]?.set(term, added);
    this.#bytes += TERM_BYTES;
    return added;
  }

  /** BM25+, which says how much a term tells about a document. */
  #score(term: string, weight: number, scores: Scores, budget: SearchBudget): void {
    for (const [field, ofField] of this.#terms.entries()) {
      const postings = ofField.get(term);
      if (postings === undefined) continue;
      const found = postings.length / 2;
      const lengths = this.#lengths[field] ?? [];
      const average = (this.#totals[field] ?? 0) / this.#size;
      const rarity = Math.log(1 + (this.#size - found + 0.5) / (found + 0.5));
      const factor = weight * (this.#weights[field] ?? 1) * rarity;
      for (let i = 0; i < postings.length; i += 2) {
        if (budget.isSpent) return;
        const [document = 0, count = 0] = [postings[i], postings[i + 1]];
        const share = (count * (K + 1)) / (count + K * (1 - B + (B * (lengths[document] ?? 0)) / average));
        const before = scores.get(document);
        budget.spend(before === undefined ? 1 + STEPS_OF_PLACE : 1);
        scores.set(document, (before ?? 0) + factor * (D + share));
      }
    }
  }
}
