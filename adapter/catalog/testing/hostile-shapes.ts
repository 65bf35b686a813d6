import { toolDefinition } from './tool-definition.ts';

const BAD = 'Ba\u200Bd';

/** What looks like a text and is data; must come through as it is. */
const DATA = { title: BAD, description: BAD, properties: { a: { description: BAD } }, items: { title: BAD } };

/** Definitions that are no tools, or of which two parsers read different things. */
export const hostileShapes: Readonly<Record<string, string>> = {
  'properties-named-like-keywords': toolDefinition({
    inputSchema: {
      properties: {
        title: { type: 'string', description: BAD },
        description: { type: 'string', title: BAD },
        properties: { properties: { items: { description: BAD } } },
        default: { description: BAD, default: DATA },
        enum: { title: BAD, enum: [DATA] },
      },
      required: ['title', 'description'],
    },
  }),
  'keywords-that-hold-data': toolDefinition({
    _meta: DATA,
    icons: [DATA],
    execution: DATA,
    annotations: { ...DATA, title: 'Good', description: BAD },
    inputSchema: {
      default: DATA,
      const: DATA,
      enum: [DATA],
      examples: [DATA, [DATA]],
      $comment: BAD,
      'x-unknown': DATA,
    },
  }),
  'every-place-of-a-schema': toolDefinition({
    inputSchema: {
      ...Object.fromEntries(
        ['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions'].map(
          (keyword) => [keyword, { a: { description: BAD }, b: true, c: ['title', 'description'] }],
        ),
      ),
      ...Object.fromEntries(
        [
          'additionalProperties',
          'unevaluatedProperties',
          'propertyNames',
          'items',
          'additionalItems',
          'unevaluatedItems',
        ]
          .concat(['contains', 'not', 'if', 'then', 'else', 'contentSchema'])
          .map((keyword) => [keyword, { title: BAD }]),
      ),
      ...Object.fromEntries(
        ['prefixItems', 'allOf', 'anyOf', 'oneOf'].map((keyword) => [
          keyword,
          [{ description: BAD }, false, { title: BAD }],
        ]),
      ),
    },
  }),
  'items-of-old-drafts': toolDefinition({
    inputSchema: { items: [{ title: BAD }, { items: [{ description: BAD }] }] },
  }),
  'boolean-schemas': toolDefinition({ inputSchema: { properties: { a: true, b: false }, items: false, not: true } }),
  'ref-to-itself': toolDefinition({ inputSchema: { $ref: '#', description: BAD, properties: { a: { $ref: '#' } } } }),
  'ref-loop': toolDefinition({
    inputSchema: {
      $defs: { a: { $ref: '#/$defs/b', title: BAD }, b: { $ref: '#/$defs/a', description: BAD } },
      properties: { a: { $ref: '#/$defs/a' }, c: { $dynamicRef: '#c', $dynamicAnchor: 'c' } },
    },
  }),
  'ref-fan': toolDefinition({
    inputSchema: {
      anyOf: [{ $ref: '#/$defs/a', title: BAD }],
      $defs: { a: { anyOf: Array.from({ length: 4 }, () => ({ $ref: '#/$defs/a' })), description: BAD } },
    },
  }),
  'ref-to-the-network': toolDefinition({
    inputSchema: { $ref: 'http://169.254.169.254/latest/meta-data/', title: BAD },
  }),
  'ref-to-proto': toolDefinition({
    inputSchema: { $ref: '#/__proto__/constructor', properties: { a: { $ref: '#/%' } } },
  }),
  'description-twice': `{"name":"t","description":"Good","description":"${BAD}","inputSchema":{}}`,
  'description-three-times-at-the-end': `{"name":"t" ,\n "description":"Good" , "description":"${BAD}","description":"" }`,
  'descriptions-only': `{ "description":"Good","description":"${BAD}" }`,
  'schema-twice': `{"inputSchema":{"description":"${BAD}"},"name":"t","inputSchema":{"properties":{"a":{"title":"${BAD}","title":"A"}}}}`,
  'name-twice': `{"name":"t","name":"del\\u200bete","description":"Good"}`,
  'names-in-other-case': `{"name":"t","Description":"${BAD}","TITLE":"${BAD}","InputSchema":{"Properties":{"A":{"DE\u017FCRIPTION":"${BAD}"}}}}`,
  'keys-with-escapes': String.raw`{"n\u0061me":"t","d\u0065scription":"B\u200bd","inputSchem\u0061":{"propert\u0069es":{"\u0061":{"titl\u0065":"B\u200bd"}}}}`,
  'keys-of-prototypes': `{"name":"__proto__","__proto__":{"description":"${BAD}"},"constructor":{"title":"${BAD}"},"inputSchema":{"__proto__":{"title":"${BAD}"},"properties":{"__proto__":{"description":"${BAD}"},"constructor":{"title":"${BAD}"},"toString":{}},"constructor":{"title":"${BAD}"}}}`,
  'name-constructor': `{"name":"constructor","description":"${BAD}"}`,
  'empty-keys': `{"":"${BAD}","name":"","inputSchema":{"properties":{"":{"description":"${BAD}"}},"":{"title":"${BAD}"}}}`,
  'texts-that-are-numbers':
    '{"name":7,"title":1e400,"description":-0.0,"inputSchema":{"title":1,"description":12345678901234567890}}',
  'texts-that-are-null':
    '{"name":null,"title":null,"description":null,"inputSchema":{"title":null,"description":null}}',
  'texts-that-are-objects': `{"name":{"a":"${BAD}"},"description":{"text":"${BAD}"},"inputSchema":{"title":["${BAD}"],"description":{"description":"${BAD}"},"type":"object"}}`,
  'schema-is-a-list': `{"name":"t","inputSchema":[],"outputSchema":[{"description":"${BAD}"}]}`,
  'schema-is-no-object': '{"name":"t","inputSchema":null,"outputSchema":"object"}',
  'properties-are-a-list': `{"name":"t","inputSchema":{"properties":[{"description":"${BAD}"}],"allOf":{"description":"${BAD}"}}}`,
  'annotations-are-a-list': `{"name":"t","annotations":[{"title":"${BAD}"}]}`,
  'tool-is-a-list': `[{"name":"t","description":"${BAD}"}]`,
  'tool-is-a-string': `"${BAD}"`,
  'tool-is-a-number': '9007199254740993',
  'tool-is-null': 'null',
  'tool-is-empty': '{}',
  'integers-over-2-53':
    '{"name":"t","description":"B\u200Bd","inputSchema":{"maximum":9007199254740993,"minimum":-1e-400,"multipleOf":1.0,"default":123456789012345678901234567890}}',
  'spacing-and-escapes':
    '\n{ "name" : "t" ,\r\n\t"title" : "\\u0041\\/b" , "inputSchema" : { "type":"object" , "description" : "B\u200Bd" , "x" : [ 1.50 , 2 ] } }\n',
  'name-of-129': `{"name":"${'n'.repeat(129)}","description":"Good"}`,
  'name-of-128': `{"name":"${'n'.repeat(128)}","description":"Good"}`,
  'name-with-zero-width': '{"name":"read\u200B_file","description":"Good"}',
  'name-with-bidi': '{"name":"read\u202Eelif","description":"Good"}',
  'name-with-tags': String.raw`{"name":"read\udb40\udc41","description":"Good"}`,
  'name-with-line-end': String.raw`{"name":"read\nfile","description":"Good"}`,
  'name-with-ansi': String.raw`{"name":"read\u001b[8m","description":"Good"}`,
  'name-with-lookalikes': '{"name":"re\u0430d","description":"Good"}',
  'twin-of-a-tool': '{"name":"t","description":"Reads a file.","inputSchema":{"type":"object"}}',
  'twin-of-a-tool-poisoned': '{"name":"t","description":"Reads a file.\u2063","inputSchema":{"type":"object"}}',
};
