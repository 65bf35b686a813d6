export type JsonObject = Record<string, unknown>;

/** Whether a JSON value is an object, and not an array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value; nothing in place of what is no object. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
