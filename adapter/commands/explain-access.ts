import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { AccessRules } from '../access/access-rules.ts';
import { asTable, explained } from '../access/explained.ts';
import { withEscapes } from '../catalog/visible-text.ts';
import { ANYBODY, type Identity } from '../identity/identity.ts';
import type { AskedCaller } from './options.ts';
import { passingMounts, type PassingMountsOptions } from './passing-mounts.ts';
import { toolListOf, toolNamesIn } from '../inspect/tool-list-of.ts';

export interface ExplainAccessOptions extends PassingMountsOptions {
  readonly config: AdapterConfig;
  readonly caller: AskedCaller;
}

export interface AccessExplained {
  /** For people: one table for each server. */
  readonly text: string;
  /** Servers that did not say which tools they have. */
  readonly problems: readonly string[];
}

/** What a caller may do at each server, and the rule that decided: upstreams are asked for their tools. */
export async function explainAccess({ caller, config, ...options }: ExplainAccessOptions): Promise<AccessExplained> {
  const identity = identityOf(caller);
  const mounts = passingMounts(config, options);
  const servers = config.servers.map((server) => effectiveServer(config, server));
  const parts = await Promise.all(
    mounts.map(async (mount, i) => {
      const access = servers[i]?.access ?? null;
      const listed = await toolListOf(mount)
        .then(toolNamesIn)
        .catch((error: unknown) => (error as Error).message);
      await mount.upstream.close();
      const rows = explained({
        access: access === null ? undefined : new AccessRules(access).of(identity),
        tools: typeof listed === 'string' ? [] : listed,
        isDisabled: mount.disabled.matches,
      });
      const shown = rows.map((row) => ({ ...row, what: withEscapes(row.what) }));
      const whose = config.servers[i]?.access === null ? 'core.access' : 'access of its own';
      const title = `${mount.serverId} (${access === null ? 'no access rules' : whose}), ${caller.principal}`;
      const table = `${title}:\n${asTable(shown)}`;
      return {
        table,
        problem: typeof listed === 'string' ? [`${mount.serverId}: its tools are not known: ${listed}`] : [],
      };
    }),
  );
  return { text: parts.map(({ table }) => table).join('\n'), problems: parts.flatMap(({ problem }) => problem) };
}

function identityOf({ principal, claims, scopes }: AskedCaller): Identity {
  const hasScopes = !principal.startsWith('token:');
  return { ...ANYBODY, name: principal, scopes: new Set(scopes), hasScopes, claims };
}
