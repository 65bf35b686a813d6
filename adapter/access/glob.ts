/** Whether a text fits a pattern in which `*` stands for any characters and everything else for itself. Takes linear time. */
export function glob(pattern: string): (text: string) => boolean {
  const parts = pattern.split('*');
  const [first = '', ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return (text) => text === pattern;
  const least = pattern.length - parts.length + 1;
  return (text) => {
    if (text.length < least || !text.startsWith(first) || !text.endsWith(last)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return at <= text.length - last.length;
  };
}
