import type { HrTime } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { ProtobufWriter } from './protobuf-writer.ts';

/* What messages of all signals are made of (opentelemetry-proto 1.x, whose field numbers stand here as tags). */

/** Tag of a message, a text or packed numbers: length-delimited. */
export const block = (field: number): number => field * 8 + 2;
export const number = (field: number): number => field * 8;
export const fixed = (field: number): number => field * 8 + 1;
export const fixed32 = (field: number): number => field * 8 + 5;

/** Of records, and of spans: they say which scope is theirs, and by its identity. */
interface Scoped {
  readonly resource: Resource;
  readonly instrumentationScope: { readonly name: string; readonly version?: string };
}

/** An export request: scope by scope, all of one resource. @param size a guess in bytes */
export function scopedMessage<T extends Scoped>(
  all: readonly T[],
  size: number,
  write: (out: ProtobufWriter, one: T) => void,
): Uint8Array {
  const out = new ProtobufWriter(size);
  for (const [scope, own] of [...Map.groupBy(all, (one) => one.instrumentationScope)].toReversed()) {
    const atScope = out.length;
    for (let index = own.length - 1; index >= 0; index -= 1) write(out, own[index] as T);
    writeScope(out, scope);
    out.close(block(2), atScope);
  }
  if (all[0] !== undefined) writeResource(out, all[0].resource);
  out.close(block(1), 0);
  return out.finish();
}

export function writeResource(out: ProtobufWriter, { attributes }: Resource): void {
  const at = out.length;
  writeAttributes(out, block(1), attributes);
  out.close(block(1), at);
}

export function writeScope(
  out: ProtobufWriter,
  { name, version }: { readonly name: string; readonly version?: string },
): void {
  const at = out.length;
  if (version !== undefined) out.text(block(2), version);
  out.text(block(1), name);
  out.close(block(1), at);
}

export function writeAttributes(out: ProtobufWriter, tag: number, attributes: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(attributes);
  for (let index = names.length - 1; index >= 0; index -= 1) {
    const name = names[index] as string;
    if (attributes[name] !== undefined) writePair(out, tag, name, attributes[name]);
  }
}

function writePair(out: ProtobufWriter, tag: number, name: string, value: unknown): void {
  const at = out.length;
  const atValue = out.length;
  writeValue(out, value);
  out.close(block(2), atValue);
  out.text(block(1), name);
  out.close(tag, at);
}

const MAX_INT64 = 2 ** 63;

/** AnyValue. Null has none of its fields. */
export function writeValue(out: ProtobufWriter, value: unknown): void {
  switch (typeof value) {
    case 'string':
      return out.text(block(1), value);
    case 'boolean':
      out.byte(value ? 1 : 0);
      return out.byte(number(2));
    case 'number':
      if (!Number.isInteger(value) || value < -MAX_INT64 || value >= MAX_INT64)
        return writeDouble(out, fixed(4), value);
      out.int64(value);
      return out.byte(number(3));
    case 'object':
      if (value !== null) writeCompound(out, value);
      break;
    default:
  }
}

function writeCompound(out: ProtobufWriter, value: object): void {
  const at = out.length;
  if (Array.isArray(value)) {
    for (let index = value.length - 1; index >= 0; index -= 1) {
      const atElement = out.length;
      writeValue(out, value[index]);
      out.close(block(1), atElement);
    }
    out.close(block(5), at);
    return;
  }
  const names = Object.keys(value);
  for (let index = names.length - 1; index >= 0; index -= 1) {
    const name = names[index] as string;
    writePair(out, block(1), name, (value as Readonly<Record<string, unknown>>)[name]);
  }
  out.close(block(6), at);
}

export function writeDouble(out: ProtobufWriter, tag: number, value: number): void {
  out.double(value);
  out.byte(tag);
}

export function writeTime(out: ProtobufWriter, tag: number, [seconds, nanoseconds]: HrTime): void {
  out.time(tag, seconds, nanoseconds);
}
