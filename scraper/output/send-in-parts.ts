import { ExportFailure } from './emitter.ts';

/** Sends items in one request, and in halves when the collector says that they are too many at a time. */
export async function sendInParts<T>(items: readonly T[], send: (part: readonly T[]) => Promise<void>): Promise<void> {
  try {
    await send(items);
  } catch (error) {
    if (!(error instanceof ExportFailure) || !error.tooLarge || items.length < 2) throw error;
    const half = Math.ceil(items.length / 2);
    await sendInParts(items.slice(0, half), send);
    await sendRest(() => sendInParts(items.slice(half), send));
  }
}

/** Sends what is left when something has arrived: a failure says so. */
export async function sendRest(send: () => Promise<void>): Promise<void> {
  try {
    await send();
  } catch (error) {
    throw error instanceof ExportFailure ? error.ofRest() : error;
  }
}

export function batches<T>(items: readonly T[], size: number): (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, place) =>
    items.slice(place * size, (place + 1) * size),
  );
}
