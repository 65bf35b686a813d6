import MiniSearch, { type SearchOptions } from 'minisearch';
import { type ListedTool, listedTool, type ToolWarnings } from './listed-tool.ts';
import { type SearchEntry, searchEntry, type SearchField } from './search-entry.ts';
import { synonymsOf } from './synonyms.ts';
import { folded, tagsOf } from './tag-groups.ts';
import { queryWordsOf, squashed, termsOf } from './words.ts';

/** What a word weighs by where it stands. */
const WEIGHTS = { name: 4, title: 3, parameters: 2, tags: 2, description: 1, details: 0.5 };
const FIELDS = Object.keys(WEIGHTS) as SearchField[];
/** Where words are few and chosen: only there a word with a typing error is looked for. */
const LABELS: readonly SearchField[] = ['name', 'title', 'parameters', 'tags'];

/** UTF-16 units of a tool that are searched, for each of its fields. */
const MAX_TEXT = 4_000;
const MAX_QUERY = 1_000;
const MAX_TERMS = 24;
const MIN_PREFIX = 3;
const SYNONYM_WEIGHT = 0.25;
/** No tool has the word itself. */
const SYNONYM_OF_UNKNOWN_WEIGHT = 0.75;
/** Of the best score. What is below shares only a common word with the query. */
const MIN_SHARE = 0.05;
/** So many are shown in any case. */
const ALTERNATIVES = 5;
const NEAREST = 3;
/** UTF-16 units of definitions that are read before others get their turn. */
const STEP_CHARS = 10_000;
/** Scores that differ by less are equal: sums of floating point numbers depend on their order. */
const PRECISION = 1e6;

/** They say nothing about a tool; names may hold them, so they are searched for when nothing else is left. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  termsOf(
    'a an the of to in on at by for from with and or as is are be it its this that i me my we you your how do does can ' +
      'could should would want need please tool tools use using what which some any',
  ),
);

interface Ranked {
  readonly tool: ListedTool;
  readonly score: number;
}

/** The tools of a server, and the search in them. */
export class ToolIndex {
  /** What has to be said of all of them. */
  readonly warning: string | undefined;
  readonly #tools: ListedTool[] = [];
  readonly #byName = new Map<string, ListedTool[]>();
  readonly #byTag = new Map<string, Set<ListedTool>>();
  readonly #engine: MiniSearch<SearchEntry>;
  /** Every term that a tool has. */
  readonly #terms = new Set<string>();
  /** How many of the tools can be searched: the others are added with the first search. */
  #searchable = 0;

  /** Takes definitions (JSON texts) as they are shown to clients, warnings included. What has no name is left out. */
  constructor(tools: readonly string[], warnings?: ToolWarnings) {
    this.warning = warnings?.ofAll;
    this.#engine = searchEngine((term) => this.#terms.add(term));
    this.#add(tools, warnings);
  }

  /** The same, ready for searches, in steps of a few milliseconds: `pause` lets others go on. */
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
      index.#add([tool], warnings);
      index.#makeSearchable();
      chars += tool.length;
    }
    return index;
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

  /** Best first; tools that fit equally well in the order of the upstream. Undefined for a query without words. */
  search(query: string, accepts: (tool: ListedTool) => boolean = () => true): readonly ListedTool[] | undefined {
    const text = query.slice(0, MAX_QUERY);
    const terms = this.#termsOf(text);
    if (terms.length === 0) return undefined;
    const meant = namesIn(text);
    const isMeant = ({ tool }: Ranked): boolean => meant.has(squashed(tool.name));
    const ranked = this.#ranked(terms, FIELDS).filter(({ tool }) => accepts(tool));
    const least = (ranked[0]?.score ?? 0) * MIN_SHARE;
    return ranked
      .filter((one, i) => i < ALTERNATIVES || one.score >= least || isMeant(one))
      .toSorted((a, b) => Number(isMeant(b)) - Number(isMeant(a)))
      .map(({ tool }) => tool);
  }

  /** Names like one that does not exist, the most similar first. */
  nearest(name: string): readonly string[] {
    const terms = this.#termsOf(name.slice(0, MAX_QUERY));
    const names = this.#ranked(terms, ['name']).map(({ tool }) => tool.name);
    return [...new Set(names)].slice(0, NEAREST);
  }

  #ranked(terms: readonly string[], fields: SearchField[]): readonly Ranked[] {
    const vocabulary = this.#vocabulary;
    const scores = new Map<number, number>();
    const add = (words: readonly string[], how: SearchOptions, weigh: (terms: number) => number): void => {
      for (const { id, score, queryTerms } of this.#engine.search(words.join(' '), how)) {
        scores.set(id as number, (scores.get(id as number) ?? 0) + score * weigh(queryTerms.length));
      }
    };
    // The engine multiplies with the number of terms that a tool has; doing it once more, tools that have all of them win
    // over one that has a single term in its name. How many synonyms of a term a tool has means nothing.
    add(terms, { fields }, (count) => count);
    const unknown = terms.filter((term) => !vocabulary.has(term));
    const labels = fields.filter((field) => LABELS.includes(field));
    add(unknown, { fields: labels, prefix: false, fuzzy: typosOf }, (count) => count);
    for (const [words, weight] of [
      [terms.filter((term) => vocabulary.has(term)), SYNONYM_WEIGHT],
      [unknown, SYNONYM_OF_UNKNOWN_WEIGHT],
    ] as const) {
      const others = words.flatMap(synonymsOf).filter((term) => vocabulary.has(term) && !terms.includes(term));
      add([...new Set(others)], { fields, prefix: false }, (count) => weight / count);
    }
    return [...scores]
      .map(([id, score]) => ({ id, score: Math.round(score * PRECISION) }))
      .sort((a, b) => b.score - a.score || a.id - b.id)
      .flatMap(({ id, score }) => {
        const tool = this.tools[id];
        return tool === undefined ? [] : [{ tool, score }];
      });
  }

  #termsOf(query: string): readonly string[] {
    const words = queryWordsOf(query);
    const all = new Set(words.flatMap(({ word, terms }) => [...terms, ...this.#compound(word, terms)]));
    const telling = [...all].filter((term) => !STOP_WORDS.has(term));
    return (telling.length > 0 ? telling : [...all]).slice(0, MAX_TERMS);
  }

  /** Two words that are written as one: readfile, where the tools say read and file. */
  #compound(word: string, terms: readonly string[]): readonly string[] {
    const vocabulary = this.#vocabulary;
    if (terms.some((term) => vocabulary.has(term))) return [];
    for (let at = MIN_PREFIX; at <= word.length - MIN_PREFIX; at++) {
      const parts = [...termsOf(word.slice(0, at)), ...termsOf(word.slice(at))];
      if (parts.length > 1 && parts.every((part) => vocabulary.has(part))) return parts;
    }
    return [];
  }

  get #vocabulary(): ReadonlySet<string> {
    this.#makeSearchable();
    return this.#terms;
  }

  #add(tools: readonly string[], warnings: ToolWarnings | undefined): void {
    for (const text of tools) {
      const tool = listedTool(text, warnings);
      if (tool === undefined) continue;
      this.#tools.push(tool);
      const same = this.#byName.get(tool.name);
      if (same === undefined) this.#byName.set(tool.name, [tool]);
      else same.push(tool);
      for (const tag of tagsOf(tool).map(folded)) {
        const group = this.#byTag.get(tag);
        if (group === undefined) this.#byTag.set(tag, new Set([tool]));
        else group.add(tool);
      }
    }
  }

  #makeSearchable(): void {
    for (; this.#searchable < this.#tools.length; this.#searchable++) {
      const tool = this.#tools[this.#searchable];
      if (tool !== undefined) this.#engine.add(searchEntry(tool, this.#searchable));
    }
  }
}

function searchEngine(onTerm: (term: string) => void): MiniSearch<SearchEntry> {
  return new MiniSearch<SearchEntry>({
    fields: FIELDS,
    // Fields are split here; queries come as terms.
    tokenize: (text, field) => [...(field === undefined ? text.split(' ') : termsOf(text.slice(0, MAX_TEXT)))],
    processTerm: (term, field) => {
      if (field !== undefined) onTerm(term);
      return term;
    },
    autoVacuum: false,
    searchOptions: {
      boost: WEIGHTS,
      prefix: (term) => term.length >= MIN_PREFIX,
      weights: { prefix: 0.3, fuzzy: 0.2 },
    },
  });
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
