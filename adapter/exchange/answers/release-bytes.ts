/**
 * Gives the memory of bytes back at once: what streams through would otherwise lie around until a collection, some
 * 50 MB of it. For bytes that nobody else has and nobody, the system included, needs any more. A part of a larger
 * buffer is left alone.
 */
export function releaseBytes(bytes: Buffer): void {
  const { buffer } = bytes;
  const isOwn = buffer instanceof ArrayBuffer && !buffer.detached && buffer.byteLength === bytes.byteLength;
  if (isOwn) buffer.transfer(0);
}
