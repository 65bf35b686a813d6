/** The promise's value, or an error that names what was awaited when it takes longer. */
export async function within<T>(timeoutMs: number, awaited: string, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not within ${timeoutMs} ms: ${awaited}`)), timeoutMs);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
