/** Pure: what may leave in a report of what people have written. */
import { redactUrl } from '../../../../lib/redaction/redact-url.ts';
import { createScrubber } from '../../../../lib/redaction/scrubber.ts';
import { isSecretName, REDACTED } from '../../../../lib/redaction/secret-names.ts';
import type { KubernetesObject } from '../../../kubernetes/kubernetes.ts';
import { isObject } from '../../../../lib/json/json-object.ts';
import { listAt, textAt } from '../../../kubernetes/unstructured.ts';

/** Shorter texts stand elsewhere for other reasons; they are hidden only where they belong. */
const MIN_SCRUBBED = 8;
/** Maps of headers, whose names are anybody's. */
const HEADERS = /headers$/i;
/** A reference, which is no secret but says where one is. */
const REFERENCE = /^\$\{\w+\}$/;
/** What is told of a spec beside its configuration; an overlay may hold anything. */
const SPEC = ['group', 'replicas', 'paused', 'image', 'storage', 'deletionPolicy', 'autoscaling', 'resources'];
const CONFIGURATIONS = ['config', 'source', 'scraper'];

/** Collects what it hides, to be found elsewhere too. */
export class Redactor {
  readonly #hidden = new Set<string>();

  /** A resource without what only its owner may know. Its uid is left out: pods answer who knows it. */
  resource({ apiVersion, kind, metadata, spec, status }: KubernetesObject & Record<string, unknown>): object {
    const { name, namespace, generation, annotations } = metadata;
    const { creationTimestamp } = metadata as { readonly creationTimestamp?: unknown };
    const own = Object.entries(annotations ?? {}).filter(([key]) => key.startsWith('mcpadapter.io/'));
    const shown = isObject(spec) ? SPEC.flatMap((key) => (key in spec ? [[key, spec[key]] as const] : [])) : [];
    const configured = isObject(spec)
      ? CONFIGURATIONS.flatMap((key) => (key in spec ? [[key, this.#hide(spec[key], '', false)] as const] : []))
      : [];
    return {
      apiVersion,
      kind,
      metadata: { name, namespace, generation, creationTimestamp, annotations: Object.fromEntries(own) },
      spec: {
        ...Object.fromEntries([...shown, ...configured]),
        env: listAt(spec, 'env').map((one) => this.#variable(one)),
      },
      status,
    };
  }

  /** A text in which nothing stands that was hidden in a resource. Call it after all resources. */
  get scrub(): (text: string) => string {
    return createScrubber([...this.#hidden], MIN_SCRUBBED);
  }

  /** The name, and where the value comes from: a value that is written out may be a secret, too. */
  #variable(variable: unknown): object {
    const value = textAt(variable, 'value');
    if (value !== undefined) this.#note(value);
    const from = isObject(variable) ? variable['valueFrom'] : undefined;
    return { name: textAt(variable, 'name'), ...(value === undefined ? { valueFrom: from } : { value: REDACTED }) };
  }

  #hide(value: unknown, name: string, isHeader: boolean): unknown {
    if (typeof value === 'string') {
      if ((isHeader || isSecretName(name)) && value !== '' && !REFERENCE.test(value)) {
        this.#note(value);
        return REDACTED;
      }
      return this.#url(value);
    }
    if (Array.isArray(value)) return value.map((one: unknown) => this.#hide(one, name, isHeader));
    if (!isObject(value)) return value;
    const inHeaders = isHeader || HEADERS.test(name);
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, this.#hide(member, key, inHeaders)]));
  }

  #url(text: string): string {
    if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
    const password = URL.canParse(text) ? decodeURIComponent(new URL(text).password) : '';
    if (password !== '') this.#note(password);
    return redactUrl(text);
  }

  #note(secret: string): void {
    this.#hidden.add(secret);
    // `Bearer abc` hides abc, too.
    for (const word of secret.split(/\s+/)) if (word.length >= MIN_SCRUBBED) this.#hidden.add(word);
  }
}
