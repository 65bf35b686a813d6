/** Counts the turns of the event loop until it is stopped. */
export function countingTurns(): { readonly turns: number; stop(): void } {
  let turns = 0;
  let isOver = false;
  const next = (): void => {
    turns += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  return {
    get turns() {
      return turns;
    },
    stop() {
      isOver = true;
    },
  };
}
