/** The methods of an interface that answer later. */
type Later<T> = {
  [K in keyof T as T[K] extends (...args: never[]) => Promise<unknown> ? K : never]: T[K];
};

type Step<F, Witness> = F extends (...args: infer Args) => Promise<infer Result>
  ? 'waits' | 'at once' | ((witness: Witness, result: Result, ...args: Args) => unknown)
  : never;

/**
 * What each method of an interface means to whoever forwards it; one that is left out does not compile. `waits`: it
 * may wait for the end of an outage; `at once`: it may not. A function may wait too, and is told what came of it.
 */
export type Steps<T, Witness> = { readonly [K in keyof Later<T>]: Step<T[K], Witness> };

type AnyMethod = (...args: unknown[]) => Promise<unknown>;

/**
 * Methods that `run` carries out on whatever is in charge.
 * @param witness who is told of results, at the time; undefined for nobody
 */
export function forwarding<T, Witness>(
  run: <R>(operation: (target: T) => Promise<R>, waits: boolean) => Promise<R>,
  steps: Steps<T, Witness>,
  witness: () => Witness | undefined = () => undefined,
): Later<T> {
  const forward =
    (name: string, step: unknown): AnyMethod =>
    async (...args) => {
      const result = await run(
        (target) => (target as Record<string, AnyMethod>)[name]?.(...args) ?? Promise.reject(new TypeError(name)),
        step !== 'at once',
      );
      const observer = typeof step === 'function' ? witness() : undefined;
      if (observer !== undefined) await (step as (...values: unknown[]) => unknown)(observer, result, ...args);
      return result;
    };
  const methods = Object.entries(steps).map(([name, step]) => [name, forward(name, step)]);
  return Object.fromEntries(methods) as Later<T>;
}
