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

/** Where a term stands in one field. */
interface Postings {
  readonly documents: number[];
  readonly counts: number[];
}

/** By document. */
export type Scores = Map<number, number>;

/**
 * Terms, and in which fields of which documents they stand. Searches are generators which stop when their budget is spent:
 * whatever the terms are, which somebody else chose, a search takes no longer and holds up nobody.
 */
export class TermIndex<Field extends string> {
  readonly #fields: readonly Field[];
  readonly #weights: readonly number[];
  /** By term, then by field. */
  readonly #terms = new Map<string, (Postings | undefined)[]>();
  readonly #byStart = new Map<string, string[]>();
  readonly #byLength: (string[] | undefined)[] = [];
  /** By field, then by document: how many different terms it has. */
  readonly #lengths: readonly number[][];
  readonly #totals: number[];
  #size = 0;

  /** @param weights what a term counts by its field */
  constructor(weights: Readonly<Record<Field, number>>) {
    this.#fields = Object.keys(weights) as Field[];
    this.#weights = this.#fields.map((field) => weights[field]);
    this.#lengths = this.#fields.map(() => []);
    this.#totals = this.#fields.map(() => 0);
  }

  /** Documents are numbered in the order in which they come. */
  add(termsIn: (field: Field) => readonly string[]): void {
    const document = this.#size++;
    for (const [field, name] of this.#fields.entries()) {
      const counts = new Map<string, number>();
      for (const term of termsIn(name)) counts.set(term, (counts.get(term) ?? 0) + 1);
      for (const [term, count] of counts) {
        const { documents, counts: all } = this.#postings(term, field);
        documents.push(document);
        all.push(count);
      }
      this.#lengths[field]?.push(counts.size);
      this.#totals[field] = (this.#totals[field] ?? 0) + counts.size;
    }
  }

  has(term: string): boolean {
    return this.#terms.has(term);
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
    let fields = this.#terms.get(term);
    if (fields === undefined) {
      fields = [];
      this.#terms.set(term, fields);
      (this.#byLength[term.length] ??= []).push(term);
      if (term.length >= MIN_PREFIX) {
        const start = term.slice(0, MIN_PREFIX);
        const same = this.#byStart.get(start);
        if (same === undefined) this.#byStart.set(start, [term]);
        else same.push(term);
      }
    }
    return (fields[field] ??= { documents: [], counts: [] });
  }

  /** BM25+, which says how much a term tells about a document. */
  #score(term: string, weight: number, scores: Scores, budget: SearchBudget): void {
    const fields = this.#terms.get(term);
    if (fields === undefined) return;
    for (const [field, postings] of fields.entries()) {
      if (postings === undefined) continue;
      const { documents, counts } = postings;
      const lengths = this.#lengths[field] ?? [];
      const average = (this.#totals[field] ?? 0) / this.#size;
      const rarity = Math.log(1 + (this.#size - documents.length + 0.5) / (documents.length + 0.5));
      const factor = weight * (this.#weights[field] ?? 1) * rarity;
      for (const [i, document] of documents.entries()) {
        if (budget.isSpent) return;
        const count = counts[i] ?? 0;
        const share = (count * (K + 1)) / (count + K * (1 - B + (B * (lengths[document] ?? 0)) / average));
        const before = scores.get(document);
        budget.spend(before === undefined ? 1 + STEPS_OF_PLACE : 1);
        scores.set(document, (before ?? 0) + factor * (D + share));
      }
    }
  }
}
