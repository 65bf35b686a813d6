import type { Attributes } from '@opentelemetry/api';
import type { Scalar } from './attribute-value.ts';
import { keyOf } from './contribution.ts';
import type { Point } from './point.ts';

/** What a node holds beside its value. */
const BYTES_OF_A_NODE = 400;

/** What the nodes of one tree hold in memory, about. */
export interface TreeSize {
  bytes: number;
}

/** A set of attributes, and the points of the metrics that have been read with it, by the place of their reading. */
export class AttributeNode {
  readonly points: (Point | undefined)[] = [];
  /** By place of the reading: the sets with the attributes of that metric alone. */
  readonly own: (AttributeNode | undefined)[] = [];
  readonly values: readonly (Scalar | undefined)[];
  readonly #next = new Map<Scalar | undefined, AttributeNode>();
  readonly #size: TreeSize;
  #attributes: { readonly attributes: Attributes; readonly key: string } | undefined;

  constructor(values: readonly (Scalar | undefined)[], size: TreeSize) {
    this.values = values;
    this.#size = size;
    const last = values.at(-1);
    size.bytes += BYTES_OF_A_NODE + 8 * values.length + (typeof last === 'string' ? 2 * last.length : 0);
  }

  /** The set with one value more. A walk over texts that are there already is quicker than to make a key of them. */
  with(value: Scalar | undefined): AttributeNode {
    const known = this.#next.get(value);
    if (known !== undefined) return known;
    const next = new AttributeNode([...this.values, value], this.#size);
    this.#next.set(value, next);
    return next;
  }

  /** The same set, with points of its own. */
  emptyCopy(): AttributeNode {
    return new AttributeNode(this.values, this.#size);
  }

  /** The set under these names, which are the same each time, and its key in a table of points. */
  attributes(names: readonly string[]): { readonly attributes: Attributes; readonly key: string } {
    if (this.#attributes === undefined) {
      const attributes = toAttributes(names, this.values);
      this.#attributes = { attributes, key: keyOf(attributes) };
    }
    return this.#attributes;
  }
}

/** Attributes by name, without those that have no value; a later one of the same name takes the place of an earlier. */
function toAttributes(names: readonly string[], values: readonly (Scalar | undefined)[]): Attributes {
  // Without a prototype a name such as __proto__ is a name.
  const attributes = Object.create(null) as Attributes;
  for (const [place, name] of names.entries()) {
    if (values[place] !== undefined) attributes[name] = values[place];
  }
  return attributes;
}
