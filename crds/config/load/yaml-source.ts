import {
  type Document,
  type Node,
  type Pair,
  type YAMLMap,
  type YAMLError,
  LineCounter,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  parseDocument,
  visit,
} from 'yaml';
import { type Problem, dottedPath } from './problem.ts';
import type { Path } from '../../../lib/json/tree.ts';

/** Most aliases of a file, and how often they may repeat what aliases repeat; more is an attempt to exhaust memory. */
const MAX_ALIASES = 1000;

/** Nobody reads more. */
const MAX_PROBLEMS = 1000;

/** How many values a file may hold after its aliases are resolved. */
const MAX_VALUES = 500_000;

/** A place in the file, both counted from 1. */
export interface Position {
  line: number;
  column: number;
}

/** A YAML file that was read: its value, what is wrong with its syntax, and where things stand in it. */
export interface YamlSource {
  /** The document as plain values; undefined when the syntax is so broken that it means nothing. */
  value: unknown;
  problems: Problem[];
  /** Where the key of this path stands; where it is missing, its nearest ancestor. */
  locate(path: Path): Position | undefined;
  /** How the value at this path is written; undefined when it is in quotes, no single value, or not there. */
  plainText(path: Path): string | undefined;
}

/**
 * Reads one YAML 1.2 document (so a bare `off` is text) with anchors and merge keys. An empty file is an empty mapping.
 * Duplicate keys are problems that leave the value readable; all other syntax errors make it undefined.
 */
export function readYaml(text: string): YamlSource {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    merge: true,
    stringKeys: true,
    prettyErrors: false,
    // The parser compares each key with all others of its mapping.
    uniqueKeys: false,
    lineCounter: lines,
  });
  const aliases = aliasesOf(document);
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const locate = (path: Path): Position | undefined => {
    const offset = offsetOf(document, aliases, path);
    return offset === undefined ? undefined : position(offset);
  };
  const plainText = (path: Path): string | undefined => {
    const node = nodeAt(document, aliases, path);
    return isScalar(node) && node.type === 'PLAIN' ? node.source : undefined;
  };
  const problems: Problem[] = [];
  const places = new Set<number>();
  const add = (offset: number, path: string, message: string): void => {
    // One mistake often makes the parser stumble again and again at the same place.
    if (places.has(offset) || places.size >= MAX_PROBLEMS) return;
    places.add(offset);
    problems.push({ path, message, ...position(offset) });
  };
  for (const error of [...document.errors, ...document.warnings]) add(error.pos[0], '', messageOf(error));
  for (const offset of aliases.dangling) add(offset, '', MESSAGES.BAD_ALIAS);
  const refuse = (message: string): YamlSource => {
    problems.push({ path: '', message });
    return { value: undefined, problems, locate, plainText };
  };
  if (aliases.count > MAX_ALIASES) {
    return refuse(`YAML syntax error: the file has ${aliases.count} aliases (*name); at most ${MAX_ALIASES} are read`);
  }
  const isReadable = problems.length === 0;
  for (const { offset, path } of aliases.twice) add(offset, dottedPath(path), TWICE);
  if (!isReadable) return { value: undefined, problems, locate, plainText };
  try {
    refuseRepetition(document.contents, aliases);
    return { value: document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {}, problems, locate, plainText };
  } catch (error) {
    return refuse(`the aliases in this file cannot be resolved: ${error instanceof Error ? error.message : ''}`);
  }
}

/**
 * What the aliases of a document mean, and which keys stand in a mapping twice, in one walk. An alias stands for the last
 * anchor of its name before it; the parser's own way walks the whole document for each alias.
 */
function aliasesOf(document: Document.Parsed): Aliases {
  const anchors = new Map<string, Node>();
  const targets = new Map<Node, Node>();
  const dangling: number[] = [];
  const twice: SetTwice[] = [];
  let count = 0;
  visit(document, {
    Alias(_key, alias) {
      count += 1;
      const target = anchors.get(alias.source);
      if (target === undefined) dangling.push(alias.range?.[0] ?? 0);
      else targets.set(alias, target);
    },
    Value(_key, node, above) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (!isMap(node)) return;
      const seen = new Set<unknown>();
      for (const { key } of node.items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value) && twice.length < MAX_PROBLEMS) {
          twice.push({ offset: key.range?.[0] ?? 0, path: [...pathOf([...above, node]), keyText(key) ?? ''] });
        }
        seen.add(key.value);
      }
    },
  });
  return { count, dangling, targets, twice, indexes: new WeakMap() };
}

interface Aliases {
  readonly count: number;
  /** Offsets of those that have no anchor before them. */
  readonly dangling: readonly number[];
  readonly targets: ReadonlyMap<Node, Node>;
  readonly twice: readonly SetTwice[];
  /** Members of the mappings that were looked into, by their keys. */
  readonly indexes: WeakMap<Node, ReadonlyMap<string | undefined, Pair<Node, Node | null>>>;
}

/** A key that its mapping has already. */
interface SetTwice {
  readonly offset: number;
  readonly path: Path;
}

/** Where a node stands: `nodes` are those around it, from the document down to itself. */
function pathOf(nodes: readonly unknown[]): Path {
  return nodes.flatMap((node, index): Path => {
    if (isPair(node)) return [keyText(node.key) ?? ''];
    return isSeq(node) && index + 1 < nodes.length ? [node.items.indexOf(nodes[index + 1])] : [];
  });
}

/** Counts the values before anything is made of them. @throws Error when there are too many, or an anchor contains itself */
function refuseRepetition(contents: Node | null, { targets }: Aliases): void {
  const known = new Map<Node, number>();
  const open = new Set<Node>();
  const sizeOf = (node: unknown): number => {
    if (isAlias(node)) {
      const target = targets.get(node);
      return target === undefined ? 1 : sizeOf(target);
    }
    if (!isMap(node) && !isSeq(node)) return 1;
    const before = known.get(node);
    if (before !== undefined) return before;
    if (open.has(node)) throw new Error('an anchor contains an alias of itself');
    open.add(node);
    let size = 1;
    for (const item of node.items) size += sizeOf(isPair(item) ? item.value : item);
    open.delete(node);
    if (size > MAX_VALUES) throw new Error('they repeat too much');
    known.set(node, size);
    return size;
  };
  sizeOf(contents);
}

/** What the parser says after a colon is a piece of the file, which may be a secret. */
const messageOf = ({ code, message }: YAMLError): string =>
  MESSAGES[code] ?? `YAML syntax error: ${message.replace(/: .*/s, '')}`;

const TWICE = 'is set twice; keep one of the two';

/** Where the parser's own words would repeat a piece of the file, or say too little. */
const MESSAGES: { BAD_ALIAS: string } & Partial<Record<string, string>> = {
  BAD_ALIAS:
    'YAML syntax error: this alias (*name) has no anchor (&name) before it; put text that starts with * in quotes',
  BAD_DIRECTIVE: 'YAML syntax error: a line that starts with % is a directive, and this one is not known',
  BAD_DQ_ESCAPE: 'YAML syntax error: invalid escape sequence in a double-quoted text; use single quotes',
  MULTIPLE_DOCS: 'YAML syntax error: the file holds more than one document; remove the line --- between them',
  NON_STRING_KEY: 'YAML syntax error: a key must be plain text',
  RESOURCE_EXHAUSTION: 'YAML syntax error: lists and mappings are nested too deeply',
  TAB_AS_INDENT: 'YAML syntax error: tabs cannot indent; use spaces',
  TAG_RESOLVE_FAILED: 'YAML syntax error: this tag (!name) is not known; put text that starts with ! in quotes',
};

/** The offset of the key, or list entry, that a path leads to, or of its nearest ancestor that exists. */
function offsetOf(document: Document.Parsed, aliases: Aliases, path: Path): number | undefined {
  let node: Node | null | undefined = document.contents;
  let offset = node?.range?.[0];
  for (const key of path) {
    node = resolved(node, aliases);
    if (isMap<Node, Node | null>(node)) {
      const pair = pairOf(node, String(key), aliases);
      if (pair === undefined) return offset;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq<Node>(node)) {
      node = node.items[Number(key)];
      if (node === undefined) return offset;
      offset = node.range?.[0] ?? offset;
    } else {
      return offset;
    }
  }
  return offset;
}

function nodeAt(document: Document.Parsed, aliases: Aliases, path: Path): Node | null | undefined {
  let node: Node | null | undefined = document.contents;
  for (const key of path) {
    node = resolved(node, aliases);
    if (isMap<Node, Node | null>(node)) node = memberOf(node, String(key), aliases);
    else node = isSeq<Node>(node) ? node.items[Number(key)] : undefined;
  }
  return resolved(node, aliases);
}

/** The member of a mapping, or of those that are merged into it (`<<`), of which the first counts. */
function memberOf(map: YAMLMap<Node, Node | null>, key: string, aliases: Aliases): Node | null | undefined {
  const own = pairOf(map, key, aliases);
  if (own !== undefined) return own.value;
  for (const { key: name, value } of map.items) {
    if (keyText(name) !== '<<') continue;
    const merged = resolved(value, aliases);
    for (const each of isSeq<Node>(merged) ? merged.items : [merged]) {
      const from = resolved(each, aliases);
      const found = isMap<Node, Node | null>(from) ? memberOf(from, key, aliases) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** The first member with this key. Members are looked up for each problem and each number, so they have an index. */
function pairOf(
  map: YAMLMap<Node, Node | null>,
  key: string,
  { indexes }: Aliases,
): Pair<Node, Node | null> | undefined {
  let index = indexes.get(map);
  if (index === undefined) {
    index = new Map(map.items.toReversed().map((item) => [keyText(item.key), item]));
    indexes.set(map, index);
  }
  return index.get(key);
}

const resolved = (node: Node | null | undefined, { targets }: Aliases): Node | null | undefined =>
  isAlias(node) ? targets.get(node) : node;

const keyText = (key: unknown): string | undefined => (isScalar(key) ? String(key.value) : undefined);
