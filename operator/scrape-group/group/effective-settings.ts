import { posix } from 'node:path';
import { ScraperSettings } from '../../../crds/config/scraper-file/scraper.ts';
import type { Connection } from '../../validation/connections.ts';
import { resolver, withoutUnknown } from '../../validation/known-values.ts';
import { connectionsOf, placesOf } from './connections.ts';
import type { Member } from './prepare.ts';
import type { ShardVariables } from './shard-variables.ts';
import { STATE_FOLDER } from './defaults.ts';

/** The port of health checks and the admin API where no source sets another. */
export const DEFAULT_PORT = 8080;

/** What of the settings the operator can know: values hold `${NAME}`, whose values only the pods see. */
export interface EffectiveSettings {
  readonly port: number;
  /** How long running windows may go on after SIGTERM, in whole seconds. */
  readonly shutdownSeconds: number;
  /** Whether the state is in a store that pods share; otherwise it is a file. */
  readonly sharedState: boolean;
  /** Folder of that file. */
  readonly stateFolder: string;
  readonly connections: readonly Connection[];
}

export function effectiveSettings({
  scraper,
  members,
  variables,
}: {
  readonly scraper: Readonly<Record<string, unknown>>;
  readonly members: readonly Member[];
  readonly variables: ShardVariables;
}): EffectiveSettings {
  const resolve = resolver(variables);
  const resolved = resolve(scraper);
  const parsed = ScraperSettings.safeParse(withoutUnknown(resolved));
  const settings = parsed.success ? parsed.data : ScraperSettings.parse({ otelCollectorEndpoint: 'http://unknown' });
  const { path } = settings.fingerprintStore.sqlite;
  return {
    port: settings.servicePort,
    shutdownSeconds: settings.terminateGracefully ? Math.ceil(settings.shutdownGrace / 1000) : 0,
    sharedState: settings.fingerprintStore.backend === 'valkey',
    stateFolder: posix.isAbsolute(path) ? posix.dirname(path) : STATE_FOLDER,
    connections: connectionsOf(
      resolved,
      members.map(({ resource, entry }) => ({ resource, entry: resolve(placesOf(entry)) })),
    ),
  };
}
