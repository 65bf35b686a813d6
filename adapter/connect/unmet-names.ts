import type { ServerConfig } from '../../crds/config/adapter-file/adapter.ts';
import { profileEntries } from '../../crds/config/adapter-file/profiles/profiles.ts';
import { dottedPath } from '../../crds/config/load/problem.ts';
import type { Path } from '../../lib/json/tree.ts';
import { glob } from '../access/glob.ts';
import { disabledTools } from '../catalog/disabled-tools.ts';
import { patternOf } from '../catalog/pattern.ts';
import { CODE_TOOLS, codeToolName } from '../code-mode/text/definitions.ts';
import { readerToolName } from '../spill/reader-tool.ts';
import { toolPrefix, uploadUrlToolName } from '../uploads/upload-url-tool.ts';

type Named = Pick<ServerConfig, 'id' | 'access' | 'disabled_tools' | 'profile' | 'results'>;

/** `*` alone says nothing of the server. */
const ANY = '*';

/**
 * Names and patterns beside those of `adapters` that no tool fits: sentences that begin with their place in the file. They
 * may be meant for a tool that comes later.
 * @param at where the server stands in the file
 * @param listed names of the server's tools
 */
export function unmetNames(server: Named, at: Path, listed: readonly string[]): string[] {
  const prefix = toolPrefix(server.id);
  // Whether or not the adapter adds them as it is configured now.
  const own = [
    uploadUrlToolName(server.id),
    readerToolName(server.id),
    ...CODE_TOOLS.map((tool) => codeToolName(prefix, tool)),
  ];
  const tools = [...listed, ...own];
  const unmet = (path: Path, name: string, follows: string, fits: (tool: string) => boolean): string[] =>
    tools.some(fits)
      ? []
      : [`${dottedPath([...at, ...path])} ${follows}: no tool of the server fits ${JSON.stringify(name)}`];
  return [
    ...server.disabled_tools.flatMap((entry, i) =>
      // What cannot be compiled is told in any case.
      'fault' in patternOf(entry, true)
        ? []
        : unmet(['disabled_tools', i], entry, 'hides nothing', disabledTools([entry]).matches),
    ),
    ...Object.keys(server.results.tools).flatMap((name) =>
      unmet(['results', 'tools', name], name, 'changes nothing', glob(name)),
    ),
    ...(server.access?.rules ?? []).flatMap(({ tools: names }, i) =>
      (names ?? []).flatMap((name, j) =>
        unmet(['access', 'rules', i, 'tools', j], name, 'decides nothing', glob(name)),
      ),
    ),
    ...unmetProfile(server, at, listed),
  ];
}

/** Servers of other versions lack some tools of a profile, but hardly all. */
function unmetProfile({ profile }: Named, at: Path, listed: readonly string[]): string[] {
  if (profile === null) return [];
  const names = profileEntries(profile.name, profile.folder).flatMap(({ tools }) => tools.filter((one) => one !== ANY));
  if (names.some((name) => listed.some(glob(name)))) return [];
  return [`${dottedPath([...at, 'profile'])} changes nothing: the server has none of the tools of ${profile.name}`];
}
