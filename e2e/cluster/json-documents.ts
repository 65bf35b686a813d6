/** The JSON objects that kubectl prints one after the other: each on a line of its own, or over several. */
export async function* jsonDocuments(chunks: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = '';
  let document = '';
  for await (const chunk of chunks) {
    pending += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = pending.split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      document += `${line}\n`;
      // Only the last line of a document begins with a closing brace, unless it is the first line, too.
      const isLast = line.startsWith('}') || (document === `${line}\n` && line.startsWith('{') && line.endsWith('}'));
      if (!isLast) continue;
      yield document.trimEnd();
      document = '';
    }
  }
}
