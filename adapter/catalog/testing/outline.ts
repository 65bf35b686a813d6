/** Members and keywords in any case of letters, and in other words than those of the code under test. */
const TEXT = /^(?:title|description)$/iu;
const OF_ONE =
  /^(?:items|contains|not|if|then|else|propertyNames|contentSchema|(?:additional|unevaluated)(?:Items|Properties))$/iu;
const OF_LISTS = /^(?:prefixItems|(?:all|any|one)Of)$/iu;
const OF_NAMES = /^(?:properties|patternProperties|definitions|\$defs|dependencies|dependentSchemas)$/iu;

export interface Outline {
  /** Everything but the texts, as JSON. */
  readonly rest: string;
  readonly texts: readonly string[];
}

/** What is text in a definition, and what is not, by way of JSON.parse: of two members of one name it sees the last. */
export function outline(tool: string): Outline {
  const texts: string[] = [];
  const takeOut = (object: Record<string, unknown>, of: RegExp): void => {
    for (const [key, value] of Object.entries(object)) {
      if (!of.test(key)) continue;
      if (typeof value === 'string') texts.push(value);
      if (typeof value === 'string' || /^description$/iu.test(key)) delete object[key];
    }
  };
  const schema = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) schema(one);
    if (!isObject(value)) return;
    takeOut(value, TEXT);
    for (const [key, inner] of Object.entries(value)) {
      if (OF_ONE.test(key) || OF_LISTS.test(key)) schema(inner);
      else if (OF_NAMES.test(key) && isObject(inner)) for (const one of Object.values(inner)) schema(one);
    }
  };
  const definition: unknown = JSON.parse(tool);
  if (isObject(definition)) {
    takeOut(definition, TEXT);
    for (const [key, value] of Object.entries(definition)) {
      if (key === 'annotations' && isObject(value)) takeOut(value, /^title$/iu);
      if (/^(?:input|output)Schema$/iu.test(key)) schema(value);
    }
  }
  return { rest: JSON.stringify(definition), texts };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
