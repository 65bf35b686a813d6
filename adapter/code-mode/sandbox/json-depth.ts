/** Whether JSON text has objects and arrays inside each other beyond so many levels. */
export function isDeeperThan(json: string, levels: number): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const char = json[i];
    if (inString && char === '\\') i++;
    else if (char === '"') inString = !inString;
    else if (!inString && (char === '[' || char === '{')) depth++;
    else if (!inString && (char === ']' || char === '}')) depth--;
    if (depth > levels) return true;
  }
  return false;
}
