import type { EffectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import type { ResultSettings } from '../../crds/config/adapter-file/results.ts';
import { glob } from '../access/glob.ts';

/** How long a result may be, and what stays of a longer one; in characters (UTF-16 code units). */
export interface SpillSettings {
  readonly overChars: number;
  readonly previewChars: number;
  /** Output schemas are not shown, and structured content is treated as text. */
  readonly dropsStructured: boolean;
}

/** The settings of a tool; undefined where its results pass whatever their length. */
export type SpillSettingsOf = (tool: string) => SpillSettings | undefined;

/** `results` of a server as a function. Undefined where no tool has a limit. */
export function spillSettings({ tools, ...ofServer }: EffectiveServer['results']): SpillSettingsOf | undefined {
  const exact = new Map<string, SpillSettings | undefined>();
  const patterns: { readonly fits: (tool: string) => boolean; readonly settings: SpillSettings | undefined }[] = [];
  for (const [name, own] of Object.entries(tools)) {
    if (name.includes('*')) patterns.push({ fits: glob(name), settings: settingsOf(own) });
    else exact.set(name, settingsOf(own));
  }
  const otherwise = settingsOf(ofServer);
  const all = [otherwise, ...exact.values(), ...patterns.map(({ settings }) => settings)];
  if (all.every((one) => one === undefined)) return undefined;
  if (exact.size === 0 && patterns.length === 0) return () => otherwise;
  return (tool) => {
    if (exact.has(tool)) return exact.get(tool);
    const pattern = patterns.find(({ fits }) => fits(tool));
    return pattern === undefined ? otherwise : pattern.settings;
  };
}

function settingsOf(settings: ResultSettings): SpillSettings | undefined {
  const { spill_over_chars: overChars, preview_chars: previewChars, structured } = settings;
  if (overChars === 0) return undefined;
  return { overChars, previewChars: Math.min(previewChars, overChars), dropsStructured: structured === 'drop' };
}
