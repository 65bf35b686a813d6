/** Runs at once, and again at most every `ms`: the last of many calls is never lost. A process may end meanwhile. */
export function throttled(ms: number, run: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isAskedAgain = false;
  const start = (): void => {
    isAskedAgain = false;
    run();
    timer = setTimeout(() => {
      timer = undefined;
      if (isAskedAgain) start();
    }, ms);
    timer.unref();
  };
  return () => {
    if (timer === undefined) start();
    else isAskedAgain = true;
  };
}
