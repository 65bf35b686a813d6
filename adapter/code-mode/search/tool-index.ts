import { MAX_RESULTS } from '../text/definitions.ts';
import { type ListedTool, listedTool, type ToolWarnings } from '../text/listed-tool.ts';
import { best, type Ranked, together } from './ranking.ts';
import { SearchBudget } from './search-budget.ts';
import { searchEntry } from './search-entry.ts';
import { synonymsOf } from './synonyms.ts';
import { folded, tagsOf } from './tag-groups.ts';
import { type Scores, TermIndex } from './term-index.ts';
import { queryWordsOf, squashed, termsOf } from '../text/words.ts';

/** What a word weighs by where it stands. */
const WEIGHTS = { name: 4, title: 3, parameters: 2, tags: 2, description: 1, details: 0.5 };

/** UTF-16 units of a tool that are searched, for each of its fields. */
const MAX_TEXT = 4_000;
const MAX_QUERY = 1_000;
/** Of a name that does not exist. */
const MAX_NAME = 200;
const MAX_TERMS = 24;
/** Parts of a word that is looked at as two. */
const MIN_PART = 3;
/** About what it takes to look whether a word is two, in steps. */
const STEPS_OF_SPLIT = 100;
const SYNONYM_WEIGHT = 0.25;
/** No tool has the word itself. */
const SYNONYM_OF_UNKNOWN_WEIGHT = 0.75;
/** Of the best score. What is below shares only a common word with the query. */
const MIN_SHARE = 0.05;
/** So many are shown in any case. */
const ALTERNATIVES = 5;
const NEAREST = 3;
/**
 * Bytes of an index, about: some thousand usual tools take fewer. Words that come after that find nothing; names have
 * room of their own, and every tool is found by its whole name.
 */
const MAX_WORDS = 4 << 20;
const MAX_NAMES = 1 << 20;
/** Of all tools together; those that come later have none. */
const MAX_TAGS = 10_000;
/** Bytes of a tool and of a tag, about, beside the text. */
const TOOL_BYTES = 500;
const TAG_BYTES = 400;
/** UTF-16 units of definitions that are read before others get their turn. */
const STEP_CHARS = 10_000;

/** They say nothing about a tool; names may hold them, so they are searched for when nothing else is left. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  termsOf(
    'a an the of to in on at by for from with and or as is are be it its this that i me my we you your how do does can ' +
      'could should would want need please tool tools use using what which some any',
  ),
);

/**
 * The tools of a server, and the search in them. Searches are generators: whoever runs one to its end lets others go on
 * where it yields.
 */
export class ToolIndex {
  /** What has to be said of all of them. */
  readonly warning: string | undefined;
  readonly #tools: ListedTool[] = [];
  readonly #byName = new Map<string, ListedTool[]>();
  /** Semaphore in the list, by the name without what spellings differ in. */
  readonly #bySquashed = new Map<string, number[]>();
  readonly #byTag = new Map<string, Set<ListedTool>>();
  readonly #words = new TermIndex(WEIGHTS, MAX_WORDS);
  /** Names alone: only there, where words are few and chosen, a word with a typing error is looked for. */
  readonly #names = new TermIndex({ name: WEIGHTS.name }, MAX_NAMES);
  #tags = 0;
  #chars = 0;

  /** Takes definitions (JSON texts) as they are shown to clients, warnings included. What has no name is left out. */
  constructor(tools: readonly string[], warnings?: ToolWarnings) {
    this.warning = warnings?.ofAll;
    for (const tool of tools) this.#add(tool, warnings);
  }

  /** The same in steps of a few milliseconds: `pause` lets others go on. */
  static async of(
    tools: readonly string[],
    warnings: ToolWarnings | undefined,
    pause: () => Promise<unknown>,
  ): Promise<ToolIndex> {
    const index = new ToolIndex([], warnings);
    let chars = 0;
    for (const tool of tools) {
      if (chars > STEP_CHARS) {
        await pause();
        chars = 0;
      }
      index.#add(tool, warnings);
      chars += tool.length;
    }
    return index;
  }

  /** What it takes up in memory with the texts of the tools, in bytes, about. */
  get size(): number {
    const beside = this.#tools.length * TOOL_BYTES + this.#tags * TAG_BYTES;
    return this.#chars + beside + this.#words.bytes + this.#names.bytes;
  }

  /** In the order of the upstream. */
  get tools(): readonly ListedTool[] {
    return this.#tools;
  }

  /** The tools of exactly this name; upstreams may list one twice. */
  named(name: string): readonly ListedTool[] {
    return this.#byName.get(name) ?? [];
  }

  /** The tools that have a tag; case does not count. */
  tagged(tag: string): ReadonlySet<ListedTool> {
    return this.#byTag.get(folded(tag)) ?? new Set();
  }

  /** Up to as many as are ever shown, best first; tools that fit equally well in the order of the upstream. Undefined for a query without words. */
  *search(
    query: string,
    accepts: (tool: ListedTool) => boolean = () => true,
    budget = new SearchBudget(),
  ): Generator<void, readonly ListedTool[] | undefined> {
    const text = query.slice(0, MAX_QUERY);
    const terms = termsIn(text, this.#words, budget);
    if (terms.length === 0) return undefined;
    const meant = new Set([...namesIn(text)].flatMap((name) => this.#bySquashed.get(name) ?? []));
    const isAccepted = (id: number): boolean => accepts(this.#tools[id] as ListedTool);
    const isMeant = (id: number): boolean => meant.has(id);
    const scores = yield* this.#scores(terms, this.#words, budget);
    const found = yield* best(scores, MAX_RESULTS, isAccepted, isMeant);
    const byScore = found.toSorted((a, b) => b.score - a.score || a.id - b.id);
    const alternatives = new Set(byScore.slice(0, ALTERNATIVES));
    const least = (byScore[0]?.score ?? 0) * MIN_SHARE;
    return this.#toolsOf(found.filter((one) => alternatives.has(one) || one.score >= least || isMeant(one.id)));
  }

  /** Names like one that does not exist, the most similar first. */
  *nearest(name: string, budget = new SearchBudget()): Generator<void, readonly string[]> {
    const terms = termsIn(name.slice(0, MAX_NAME), this.#names, budget);
    const scores = yield* this.#scores(terms, this.#names, budget);
    const found = yield* best(
      scores,
      MAX_RESULTS,
      () => true,
      () => false,
    );
    return [...new Set(this.#toolsOf(found).map((tool) => tool.name))].slice(0, NEAREST);
  }

  /** What comes first tells most: where the budget ends, only what is less like the words is missing. */
  *#scores(terms: readonly string[], index: TermIndex<string>, budget: SearchBudget): Generator<void, Scores> {
    const found = terms.map((): Scores => new Map());
    const scoresOf = (i: number): Scores => found[i] ?? new Map();
    for (const [i, term] of terms.entries()) index.exact(term, scoresOf(i), budget);
    yield;
    const unknown = terms.filter((term) => !index.has(term));
    const total: Scores = new Map();
    for (const [words, weight] of [
      [terms.filter((term) => index.has(term)), SYNONYM_WEIGHT],
      [unknown, SYNONYM_OF_UNKNOWN_WEIGHT],
    ] as const) {
      const others = new Set(words.flatMap(synonymsOf).filter((term) => !terms.includes(term)));
      const scores: Scores = new Map();
      for (const term of others) index.exact(term, scores, budget);
      for (const [id, score] of scores) total.set(id, (total.get(id) ?? 0) + score * weight);
      yield;
    }
    const alike: Scores[] = [];
    for (const term of unknown) {
      const scores: Scores = new Map();
      yield* this.#names.like(term, typosOf(term), scores, budget);
      alike.push(scores);
      yield;
    }
    for (const [i, term] of terms.entries()) {
      yield* index.beginning(term, scoresOf(i), budget);
      yield;
    }
    yield* together(found, total);
    yield* together(alike, total);
    return total;
  }

  #toolsOf(ranked: readonly Ranked[]): readonly ListedTool[] {
    return ranked.flatMap(({ id }) => this.#tools[id] ?? []);
  }

  #add(text: string, warnings: ToolWarnings | undefined): void {
    const tool = listedTool(text, warnings, MAX_TAGS - this.#tags);
    if (tool === undefined) return;
    this.#tags += tool.tags.length;
    // A name stands in it once more, and as what is left of it when spellings do not count.
    this.#chars += text.length + 2 * tool.name.length;
    put(this.#byName, tool.name, tool);
    put(this.#bySquashed, squashed(tool.name), this.#tools.length);
    this.#tools.push(tool);
    for (const tag of tagsOf(tool).map(folded)) {
      const group = this.#byTag.get(tag);
      if (group === undefined) this.#byTag.set(tag, new Set([tool]));
      else group.add(tool);
    }
    const names = termsOf(tool.name.slice(0, MAX_TEXT));
    this.#names.add(() => names);
    if (this.#words.isFull) return;
    const entry = searchEntry(tool);
    this.#words.add((field) => (field === 'name' ? names : termsOf(entry[field].slice(0, MAX_TEXT))));
  }
}

function put<T>(map: Map<string, T[]>, key: string, value: T): void {
  const same = map.get(key);
  if (same === undefined) map.set(key, [value]);
  else same.push(value);
}

function termsIn(query: string, index: TermIndex<string>, budget: SearchBudget): readonly string[] {
  const words = queryWordsOf(query);
  const all = new Set(words.flatMap(({ word, terms }) => [...terms, ...compound(word, terms, index, budget)]));
  const telling = [...all].filter((term) => !STOP_WORDS.has(term));
  return (telling.length > 0 ? telling : [...all]).slice(0, MAX_TERMS);
}

/** Two words that are written as one: readfile, where the tools say read and file. */
function compound(
  word: string,
  terms: readonly string[],
  index: TermIndex<string>,
  budget: SearchBudget,
): readonly string[] {
  if (terms.some((term) => index.has(term))) return [];
  for (let at = MIN_PART; at <= word.length - MIN_PART && !budget.isSpent; at++) {
    budget.spend(STEPS_OF_SPLIT);
    const parts = [...termsOf(word.slice(0, at)), ...termsOf(word.slice(at))];
    if (parts.length > 1 && parts.every((part) => index.has(part))) return parts;
  }
  return [];
}

/** Characters that may be wrong in a word that no tool has. */
function typosOf(term: string): number {
  if (term.length < 4) return 0;
  return term.length < 7 ? 1 : 2;
}

/** Names that a query holds, whole or as one of its words. */
function namesIn(query: string): ReadonlySet<string> {
  return new Set([query, ...query.split(/[\s,;:"'`()[\]]+/)].map(squashed).filter((name) => name !== ''));
}
