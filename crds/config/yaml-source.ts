import {
  type Document,
  type Node,
  type YAMLMap,
  type YAMLError,
  LineCounter,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  visit,
} from 'yaml';
import { type Problem, dottedPath } from './problem.ts';
import type { Path } from './tree.ts';

/** Most aliases of a file, and how often they may repeat what aliases repeat; more is an attempt to exhaust memory. */
const MAX_ALIASES = 1000;

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
  for (const error of [...document.errors, ...document.warnings]) {
    const place = position(error.pos[0]);
    // One mistake often makes the parser stumble again and again at the same place.
    if (problems.some(({ line, column }) => line === place.line && column === place.column)) continue;
    const path = error.code === 'DUPLICATE_KEY' ? dottedPath(pathOfKey(document.contents, error.pos[0])) : '';
    problems.push({ path, message: messageOf(error), ...place });
  }
  for (const offset of aliases.dangling) {
    problems.push({ path: '', message: MESSAGES.BAD_ALIAS, ...position(offset) });
  }
  if (aliases.count > MAX_ALIASES) {
    const message = `YAML syntax error: the file has ${aliases.count} aliases (*name); at most ${MAX_ALIASES} are read`;
    problems.push({ path: '', message });
  }
  if (problems.some(({ path }) => path === '')) return { value: undefined, problems, locate, plainText };
  try {
    return { value: treeOf(document), problems, locate, plainText };
  } catch (error) {
    const message = `the aliases in this file cannot be resolved: ${error instanceof Error ? error.message : ''}`;
    return { value: undefined, problems: [...problems, { path: '', message }], locate, plainText };
  }
}

/**
 * What the aliases of a document mean, in one walk: an alias stands for the last anchor of its name before it. The
 * parser's own way walks the whole document for each alias.
 */
function aliasesOf(document: Document.Parsed): Aliases {
  const anchors = new Map<string, Node>();
  const targets = new Map<Node, Node>();
  const dangling: number[] = [];
  let count = 0;
  visit(document, {
    Alias(_key, alias) {
      count += 1;
      const target = anchors.get(alias.source);
      if (target === undefined) dangling.push(alias.range?.[0] ?? 0);
      else targets.set(alias, target);
    },
    Value(_key, node) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return { count, dangling, targets };
}

interface Aliases {
  readonly count: number;
  /** Offsets of those that have no anchor before them. */
  readonly dangling: readonly number[];
  readonly targets: ReadonlyMap<Node, Node>;
}

/** The plain values. @throws Error when aliases repeat too much, or when an anchor contains itself */
function treeOf(document: Document.Parsed): unknown {
  const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {};
  let count = 0;
  const check = (node: unknown, above: readonly unknown[]): void => {
    count += 1;
    if (count > MAX_VALUES) throw new Error('they repeat too much');
    if (typeof node !== 'object' || node === null) return;
    if (above.includes(node)) throw new Error('an anchor contains an alias of itself');
    for (const child of Object.values(node)) check(child, [...above, node]);
  };
  check(value, []);
  return value;
}

/** What the parser says after a colon is a piece of the file, which may be a secret. */
const messageOf = ({ code, message }: YAMLError): string =>
  MESSAGES[code] ?? `YAML syntax error: ${message.replace(/: .*/s, '')}`;

/** Where the parser's own words would repeat a piece of the file, or say too little. */
const MESSAGES: { BAD_ALIAS: string } & Partial<Record<string, string>> = {
  BAD_ALIAS:
    'YAML syntax error: this alias (*name) has no anchor (&name) before it; put text that starts with * in quotes',
  BAD_DIRECTIVE: 'YAML syntax error: a line that starts with % is a directive, and this one is not known',
  BAD_DQ_ESCAPE: 'YAML syntax error: invalid escape sequence in a double-quoted text; use single quotes',
  DUPLICATE_KEY: 'is set twice; keep one of the two',
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
      const pair = node.items.find((item) => keyText(item.key) === String(key));
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
  const own = map.items.find((item) => keyText(item.key) === key);
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

const resolved = (node: Node | null | undefined, { targets }: Aliases): Node | null | undefined =>
  isAlias(node) ? targets.get(node) : node;

const keyText = (key: unknown): string | undefined => (isScalar(key) ? String(key.value) : undefined);

/** The path of the mapping key that starts at an offset. */
function pathOfKey(node: Node | null, offset: number): Path {
  const inside = (child: Node | null | undefined): boolean => {
    const [start, , end] = child?.range ?? [];
    return start !== undefined && end !== undefined && start <= offset && offset < end;
  };
  if (isMap<Node, Node | null>(node)) {
    for (const { key, value } of node.items) {
      if (inside(key)) return [keyText(key) ?? ''];
      if (inside(value)) return [keyText(key) ?? '', ...pathOfKey(value, offset)];
    }
  } else if (isSeq<Node>(node)) {
    const index = node.items.findIndex(inside);
    if (index >= 0) return [index, ...pathOfKey(node.items[index] ?? null, offset)];
  }
  return [];
}
