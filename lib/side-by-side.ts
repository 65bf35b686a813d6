/** What `run` makes of each item, in their order, with so many at a time. Rejects with the first that does. */
export async function sideBySide<Item, Result>(
  items: readonly Item[],
  most: number,
  run: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of left) results[index] = await run(item, index);
  };
  await Promise.all(Array.from({ length: most }, worker));
  return results;
}
