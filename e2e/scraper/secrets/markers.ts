import { secret } from '../../support/secrets/secret.ts';

/**
 * Secrets that can be found again, also when they come out in another form: each has a core of letters and digits, which
 * no way of writing changes but Base64, and around it what is easily written in another way.
 */
export class Markers {
  readonly #cores = new Map<string, string>();

  /** A secret for a place. `plain`: only letters and digits, for places that take nothing else. */
  plant(place: string, plain = false): string {
    const core = secret(place);
    this.#cores.set(place, core);
    return plain ? core : `a"${core}+/%=é`;
  }

  /** Lets a secret be what it is, such as a token that a server gives, which has to be unique anyway. */
  know(place: string, core: string): void {
    this.#cores.set(place, core);
  }

  get places(): readonly string[] {
    return [...this.#cores.keys()];
  }

  /** The places whose secrets stand in a text, in whatever form. */
  found(text: string): string[] {
    return [...this.#cores]
      .filter(([, core]) => formsOf(core).some((form) => text.includes(form)))
      .map(([place]) => place);
  }
}

/** As it is, and what stays the same of its Base64 wherever it stands in what is encoded. */
function formsOf(core: string): string[] {
  return [
    core,
    ...[0, 1, 2].map((offset) => {
      const text = Buffer.from(`${'x'.repeat(offset)}${core}`).toString('base64');
      // The first group may hold what stands before, and the last what stands behind.
      return text.slice(offset === 0 ? 0 : 4, Math.floor(text.replaceAll('=', '').length / 4) * 4 - 4);
    }),
  ];
}
