/** The JSON objects that kubectl prints one after the other, each over several lines and closed by a line with `}`. */
export async function* jsonDocuments(chunks: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const chunk of chunks) {
    pending += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    for (;;) {
      const end = pending.startsWith('}\n') ? 0 : pending.indexOf('\n}\n') + 1;
      if (end === 0 && !pending.startsWith('}\n')) break;
      yield pending.slice(0, end + 1);
      pending = pending.slice(end + 2);
    }
  }
}
