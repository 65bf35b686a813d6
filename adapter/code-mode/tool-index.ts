import MiniSearch, { type SearchOptions } from 'minisearch';
import { type ListedTool, listedTool, type ToolWarnings } from './listed-tool.ts';
import { own, ownList, ownText, propertiesOf, resolve, variantsOf } from './schema-view.ts';
import { synonymsOf } from './synonyms.ts';
import { queryWordsOf, squashed, termsOf } from './words.ts';

/** What a word weighs by where it stands. */
const WEIGHTS = { name: 4, title: 3, parameters: 2, tags: 2, description: 1, details: 0.5 };
type Field = keyof typeof WEIGHTS;
const FIELDS = Object.keys(WEIGHTS) as Field[];
/** Where words are few and chosen: only there a word with a typing error is looked for. */
const LABELS: readonly Field[] = ['name', 'title', 'parameters', 'tags'];

/** UTF-16 units of a tool that are searched, for each of its fields. */
const MAX_TEXT = 4_000;
const MAX_PARAMETERS = 200;
const MAX_VARIANTS = 6;
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

/** The tools of a server, and the search in them. Immutable; the index is built with the first search. */
export class ToolIndex {
  /** In the order of the upstream. */
  readonly tools: readonly ListedTool[];
  /** What has to be said of all of them. */
  readonly warning: string | undefined;
  readonly #byName = new Map<string, ListedTool[]>();
  #searched: { readonly engine: MiniSearch<Entry>; readonly vocabulary: ReadonlySet<string> } | undefined;

  /** Takes definitions (JSON texts) as they are shown to clients, warnings included. What has no name is left out. */
  constructor(tools: readonly string[], warnings?: ToolWarnings) {
    this.warning = warnings?.ofAll;
    this.tools = tools.map((tool) => listedTool(tool, warnings)).filter((tool) => tool !== undefined);
    for (const tool of this.tools) {
      const same = this.#byName.get(tool.name);
      if (same === undefined) this.#byName.set(tool.name, [tool]);
      else same.push(tool);
    }
  }

  /** The tools of exactly this name; upstreams may list one twice. */
  named(name: string): readonly ListedTool[] {
    return this.#byName.get(name) ?? [];
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

  #ranked(terms: readonly string[], fields: Field[]): readonly Ranked[] {
    const { engine, vocabulary } = this.#engine;
    const scores = new Map<number, number>();
    const add = (words: readonly string[], how: SearchOptions, weigh: (terms: number) => number): void => {
      for (const { id, score, queryTerms } of engine.search(words.join(' '), how)) {
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
    const { vocabulary } = this.#engine;
    if (terms.some((term) => vocabulary.has(term))) return [];
    for (let at = MIN_PREFIX; at <= word.length - MIN_PREFIX; at++) {
      const parts = [...termsOf(word.slice(0, at)), ...termsOf(word.slice(at))];
      if (parts.length > 1 && parts.every((part) => vocabulary.has(part))) return parts;
    }
    return [];
  }

  get #engine() {
    this.#searched ??= indexOf(this.tools);
    return this.#searched;
  }
}

type Entry = Record<Field, string> & { readonly id: number };

function indexOf(tools: readonly ListedTool[]) {
  const vocabulary = new Set<string>();
  const engine = new MiniSearch<Entry>({
    fields: FIELDS,
    // Fields are split here; queries come as terms.
    tokenize: (text, field) => [...(field === undefined ? text.split(' ') : termsOf(text.slice(0, MAX_TEXT)))],
    processTerm: (term, field) => {
      if (field !== undefined) vocabulary.add(term);
      return term;
    },
    autoVacuum: false,
    searchOptions: {
      boost: WEIGHTS,
      prefix: (term) => term.length >= MIN_PREFIX,
      weights: { prefix: 0.3, fuzzy: 0.2 },
    },
  });
  engine.addAll(tools.map(entryOf));
  return { engine, vocabulary };
}

function entryOf(tool: ListedTool, id: number): Entry {
  const { name, title = '', description } = tool;
  const parameters = parametersOf(tool);
  return {
    id,
    name,
    title,
    tags: tool.tags.join(' '),
    parameters: parameters.map((parameter) => parameter.name).join(' '),
    description,
    details: parameters.map(({ details }) => details).join(' '),
  };
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

/** The parameters, and what the objects among them hold, with what is said about them. */
function parametersOf({ definition }: ListedTool): readonly { readonly name: string; readonly details: string }[] {
  const root = own(definition, 'inputSchema');
  const whole = [root, ...variantsOf(root).slice(0, MAX_VARIANTS)];
  const outer = whole.flatMap((schema) => propertiesOf(schema, root)).slice(0, MAX_PARAMETERS);
  const inner = outer.flatMap(({ schema }) => {
    const value = resolve(schema, root);
    const places = [value, own(value, 'items'), ...variantsOf(value).slice(0, MAX_VARIANTS)];
    return places.flatMap((place) => propertiesOf(place, root));
  });
  return [...outer, ...inner].slice(0, MAX_PARAMETERS).map(({ name, schema }) => {
    const value = resolve(schema, root);
    const words = ownList(value, 'enum').filter((word) => typeof word === 'string');
    return { name, details: [ownText(value, 'description') ?? '', ...words.slice(0, MAX_PARAMETERS)].join(' ') };
  });
}
