/** JSON Schema 2020-12 keywords that a gateway tends to lose when it rewrites tool definitions (SEP-1613, SEP-2106). */
export const dialectSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- the JSON Schema keyword
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
} as const;

/** The tool that the MCP conformance suite expects for its scenario `json-schema-2020-12`. */
export const dialectTool = JSON.stringify({
  name: 'json_schema_2020_12_tool',
  description: 'Tool with JSON Schema 2020-12 features',
  inputSchema: dialectSchema,
});

/**
 * A tool with every keyword of JSON Schema 2020-12, whose texts have something in them. What is data has a
 * full-width letter in any case.
 */
export function everyKeyword(inTexts: string): string {
  const data = '{"title":"\uFF21","description":"\uFF21","properties":{"a":{"title":"\uFF21"}}}';
  const schema = `{"title":"T${inTexts}","description":"D${inTexts}"}`;
  const before =
    '"$schema":"https://json-schema.org/draft/2020-12/schema", "$id":"urn:a\uFF21", "$anchor":"a", "$ref":"#", ' +
    '"$dynamicRef":"#d", "$dynamicAnchor":"d", "$vocabulary":{"urn:b":true}, "$comment":"\uFF21"';
  const applicators = [
    ...['$defs', 'properties', 'patternProperties', 'dependentSchemas'].map(
      (key) => `"${key}":{"a":${schema},"b":true}`,
    ),
    ...['prefixItems', 'allOf', 'anyOf', 'oneOf'].map((key) => `"${key}":[${schema},false]`),
    ...['items', 'contains', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else'].map(
      (key) => `"${key}":${schema}`,
    ),
    ...['unevaluatedItems', 'unevaluatedProperties', 'contentSchema'].map((key) => `"${key}": ${schema}`),
  ];
  const validation =
    `"type":["object","array"], "const":${data}, "enum":[${data},null], "multipleOf":0.10, ` +
    '"maximum":9007199254740993, "exclusiveMaximum":1E400, "minimum":-0, "exclusiveMinimum":-1, "maxLength":1, ' +
    '"minLength":0, "pattern":"\uFF21", "maxItems":1, "minItems":0, "uniqueItems":true, "maxContains":1, ' +
    '"minContains":0, "maxProperties":1, "minProperties":0, "required":["a\uFF21"], "dependentRequired":{"title":["a"]}';
  const annotations =
    `"default":${data}, "examples":[${data}], "format":"uri", "contentEncoding":"base64", ` +
    '"contentMediaType":"text/html", "deprecated":true, "readOnly":false, "writeOnly":true, ' +
    `"title":"T${inTexts}", "description":"D${inTexts}"`;
  const keywords = [before, ...applicators, validation, annotations, '"x-mcp-header":{"title":"\uFF21"}'];
  return `{"name":"t","inputSchema":{${keywords.join(', ')}},"outputSchema":${schema}}`;
}
