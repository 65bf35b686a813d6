import type { ToolResult } from './locate-output.ts';

/** A file that stands in a tool's result itself. */
export interface EmbeddedOutput {
  readonly bytes: Buffer;
  /** What the tool calls it, if anything: the last part of its URI. */
  readonly name: string | undefined;
  /** What the tool says that it is. */
  readonly mimeType: string | undefined;
}

interface Block {
  readonly type?: unknown;
  readonly data?: unknown;
  readonly mimeType?: unknown;
  readonly resource?: unknown;
}

/** The first image of a result, else its first audio, else its first embedded resource (specification 2.8). */
export function embeddedOutput({ content }: ToolResult): EmbeddedOutput | undefined {
  if (!Array.isArray(content)) return undefined;
  const blocks = content.filter((block): block is Block => typeof block === 'object' && block !== null);
  for (const type of ['image', 'audio']) {
    const block = blocks.find((one) => one.type === type && typeof one.data === 'string' && one.data !== '');
    if (block !== undefined) return { ...decoded(block.data as string), name: undefined, mimeType: typeOf(block) };
  }
  for (const { type, resource } of blocks) {
    if (type !== 'resource' || typeof resource !== 'object' || resource === null) continue;
    const { blob, text, uri, mimeType } = resource as Record<string, unknown>;
    const named = { name: lastPart(uri), mimeType: typeOf({ mimeType }) };
    if (typeof blob === 'string') return { ...decoded(blob), ...named };
    if (typeof text === 'string') return { bytes: Buffer.from(text), ...named };
  }
  return undefined;
}

const decoded = (data: string): { bytes: Buffer } => ({ bytes: Buffer.from(data, 'base64') });

function typeOf({ mimeType }: Pick<Block, 'mimeType'>): string | undefined {
  return typeof mimeType === 'string' ? mimeType : undefined;
}

function lastPart(uri: unknown): string | undefined {
  const path = typeof uri === 'string' ? URL.parse(uri)?.pathname : undefined;
  const last = path?.split('/').at(-1);
  if (last === undefined || last === '') return undefined;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
