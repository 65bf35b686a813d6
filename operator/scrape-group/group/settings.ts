import { REDACTED, looksSecret } from '../../../lib/redaction/secret-names.ts';
import { dottedPath } from '../../../crds/config/load/problem.ts';
import { redactUrl } from '../../../lib/redaction/redact-url.ts';
import { hasReference } from '../../../lib/references/reference.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';
import type { ApiScrapeSource } from '../../../crds/v1alpha1/api-scrape-source.ts';
import { comparable, renamedReferences, variablePrefix } from './variables.ts';
import { isObject } from '../../../lib/json/json-object.ts';

/**
 * What the sources of a group decide: each field of `spec.scraper` together, and the fields that make the pods those
 * alone that are the oldest. A field may be set by several sources, as long as they agree.
 */

/** Compared and taken as a whole; `scraper` field by field. */
const POD_FIELDS = [
  'replicas',
  'storage',
  'networkPolicy',
  'image',
  'imagePullPolicy',
  'imagePullSecrets',
  'resources',
  'podOverlay',
] as const;
/** Holds the name of a variable, not a reference to it. */
export const NAMES_VARIABLE = 'scraper.adminSecretEnv';

export interface Setting {
  /** Path in the spec, such as `['scraper', 'logLevel']`. */
  readonly path: Path;
  /** As the pods get it: with the variables of the pod. */
  readonly value: unknown;
  /** As the user wrote it. */
  readonly written: unknown;
  /** Equal for values that mean the same. */
  readonly comparable: string;
  /** Name of the resource that set it; undefined for what the operator was started with. */
  readonly source: string | undefined;
}

/** The settings of a group by their dotted paths. */
export type Settings = ReadonlyMap<string, Setting>;

/** Everything that the resource says about its group. */
export function settingsOf({ metadata: { name }, spec }: Pick<ApiScrapeSource, 'metadata' | 'spec'>): Setting[] {
  const pod = POD_FIELDS.filter((field) => spec[field] !== undefined && spec[field] !== null).map((field) => ({
    path: [field],
    value: spec[field],
    written: spec[field],
    comparable: comparable(spec[field], {}),
    source: name,
  }));
  const scraper = leaves(spec.scraper, ['scraper']).map(({ path, value: written }) => {
    if (dottedPath(path) !== NAMES_VARIABLE || !isName(written)) {
      return {
        path,
        value: renamedReferences(written, name),
        written,
        comparable: comparable(written, spec),
        source: name,
      };
    }
    const value = variablePrefix(name) + renamedReferences(written.trim(), name);
    // Where the name itself comes from a variable, any of them may be meant.
    const meaning = hasReference(written) ? [written, spec.env, spec.envFrom] : `\${${written.trim()}}`;
    return { path, value, written, comparable: comparable(meaning, spec), source: name };
  });
  return [...pod, ...scraper];
}

/** References of settings that stand there as the bare name of a variable. */
export function namedVariables(spec: ApiScrapeSource['spec']): unknown {
  const name = valueAt(spec, ['scraper', 'adminSecretEnv']);
  return isName(name) && !hasReference(name) ? { scraper: { adminSecretEnv: `\${${name.trim()}}` } } : {};
}

/** Blank text names nothing. */
const isName = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

/** Why a setting cannot join those of the group; undefined when it can. */
export function conflictWith(settings: Settings, setting: Setting): string | undefined {
  const field = dottedPath(setting.path);
  const other = settings.get(field);
  if (other === undefined || other.comparable === setting.comparable) return undefined;
  const [mine, theirs] = [shown(setting), shown(other)];
  const whose = other.source === undefined ? 'by the operator' : `by the older source ${other.source}`;
  const why = mine === theirs && mine.includes('${') ? ', which means another value there' : '';
  return `spec.${field} is ${mine} here, but was set to ${theirs} ${whose}${why}; all sources of a group share it`;
}

/**
 * Why a source may not have its say about the pods of a group, which hold the Secrets of others: these are the affair of
 * its oldest sources. Undefined when it says nothing that these do not say too.
 * @param settings those of the oldest sources, and what younger ones have added in `spec.scraper`
 */
export function foreignSetting(settings: Settings, own: readonly Setting[], oldest: string): string | undefined {
  const foreign = own.find(
    ({ path, comparable }) => isPodField(path) && settings.get(dottedPath(path))?.comparable !== comparable,
  );
  if (foreign === undefined) return undefined;
  const field = dottedPath(foreign.path);
  const other = settings.get(field);
  const theirs = other === undefined ? 'does not set it' : `says ${shown(other)}`;
  return (
    `spec.${field} is ${shown(foreign)} here, but the pods of a group are those of its oldest source, ${oldest}, which ` +
    `${theirs}; set it there, or leave it out here`
  );
}

/** What belongs together in `spec.scraper`: somebody's credentials go where the rest of it leads. */
function sectionOf([scraper, field]: Path): string | undefined {
  if (scraper !== 'scraper') return undefined;
  const name = String(field);
  if (name.startsWith('otel')) return 'collector';
  if (/^(enableAdminApi|adminSecretEnv)$/.test(name)) return 'admin API';
  return name === 'fingerprintStore' ? 'store' : undefined;
}

/**
 * Why a source may not add to what an older one says of the collector, of the store or of the admin API: the Secrets of
 * the older one would go there. Undefined when it adds nothing.
 * @param isOlder whether this source, by its name, is older than the one whose settings are `own`
 */
export function foreignAddition(
  settings: Settings,
  own: readonly Setting[],
  isOlder: (source: string) => boolean,
): string | undefined {
  for (const setting of own) {
    const section = sectionOf(setting.path);
    const field = dottedPath(setting.path);
    if (section === undefined || settings.has(field)) continue;
    const owner = [...settings.values()].find(
      ({ path, source }) => source !== undefined && sectionOf(path) === section && isOlder(source),
    );
    if (owner === undefined) continue;
    return (
      `spec.${field} is ${shown(setting)} here, but the ${section} of a group is the affair of the oldest source that says ` +
      `anything of it, ${owner.source ?? ''}; set it there, or leave it out here`
    );
  }
  return undefined;
}

const isPodField = ([field]: Path): boolean => POD_FIELDS.some((one) => one === field);

/** The settings of `spec.scraper` as one section of the file. */
export function scraperSection(settings: Settings): Record<string, unknown> {
  const section: Record<string, unknown> = {};
  for (const { path, value } of settings.values()) if (path[0] === 'scraper') put(section, path.slice(1), value);
  return section;
}

/** The fields that make the pods. */
export function podFields(settings: Settings): Pick<ApiScrapeSource['spec'], (typeof POD_FIELDS)[number]> {
  return Object.fromEntries(POD_FIELDS.map((field) => [field, settings.get(field)?.value]));
}

const MAX_SHOWN = 80;

function shown({ path, written }: Setting): string {
  const [parent = '', name = ''] = path.slice(-2).map(String);
  if (/headers$/i.test(parent) || looksSecret(name)) return REDACTED;
  if (typeof written === 'object' && written !== null) return 'something else';
  const text = typeof written === 'string' ? JSON.stringify(redactUrl(written)) : String(written);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function leaves(value: unknown, path: Path): { path: Path; value: unknown }[] {
  if (value === undefined) return [];
  if (!isObject(value)) return [{ path, value }];
  return Object.entries(value).flatMap(([key, item]) => leaves(item, [...path, key]));
}

function put(section: Record<string, unknown>, path: Path, value: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  if (rest.length === 0) {
    // Another source may have set fields of a section that this one sets to null.
    if (value !== null || !isObject(section[key])) section[key] = value;
    return;
  }
  const inner = section[key];
  const next: Record<string, unknown> = isObject(inner) ? inner : {};
  section[key] = next;
  put(next, rest, value);
}
