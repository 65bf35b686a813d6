const FIRST_BYTES = 32 * 1024;

interface Replaceable {
  readonly _delegate?: { _serializer?: { deserializeResponse?: unknown; serializeRequest?: unknown } };
}

/**
 * Lets an exporter of OpenTelemetry write its requests with `write`. The exporters have no parameter for that; where they
 * do not look as expected, theirs stays in place, which is only slower.
 *
 * @param write gives the bytes of a request; `size` is about how many there will be
 */
export function withSerializer<T, E extends { export(items: T, done: never): void }>(
  exporter: E,
  write: (items: T, size: number) => Uint8Array,
): E {
  const delegate = (exporter as Replaceable)._delegate;
  const theirs = delegate?._serializer;
  if (delegate === undefined || typeof theirs?.serializeRequest !== 'function') return exporter;
  let size = FIRST_BYTES;
  const serializeRequest = (items: T): Uint8Array => {
    const bytes = write(items, size);
    // The next one is about as large.
    size = Math.ceil(bytes.length * 1.1);
    return bytes;
  };
  delegate._serializer = { ...theirs, serializeRequest };
  return exporter;
}
