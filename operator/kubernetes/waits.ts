/** Rejects when the API server has not answered in time. What was asked for may happen all the same. */
export async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  const limit = Math.max(0, ms);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the API server did not answer within ${Math.round(limit)} ms`)), limit);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
