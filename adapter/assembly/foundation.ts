import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { ignoredVariables } from '../../crds/v1alpha1/ignored-variables.ts';
import { connectRulesFrom } from '../../lib/net/guarded-connect.ts';
import type { AdminSettings } from '../../lib/http/admin-settings.ts';
import type { Redaction } from '../../lib/redaction/redact.ts';
import type { Environment } from '../../lib/references/reference.ts';
import { type ReferencesWatch, watchReferences } from '../../lib/references/watch-references.ts';
import { LimitsHit } from '../admin/limits-hit.ts';
import { accountLimits, ByteAccount } from '../byte-account.ts';
import { type AdapterError, knownError } from '../errors.ts';
import { NO_BYTES } from './janitor.ts';
import { MAX_ANSWER_BYTES } from '../limits.ts';
import { openFiles, storesFiles } from './open-files.ts';
import { openSecrets } from './open-secrets.ts';
import { ClientNotices } from '../sessions/client-notices.ts';
import { SessionFiles } from '../sessions/session-files.ts';
import { SessionRegistry } from '../sessions/session-registry.ts';
import { observedNonces } from '../state/observed-nonces.ts';
import { type OpenedState, openStore } from '../state/open/open-store.ts';
import type { LogOutput } from '../telemetry/logs/log-output.ts';
import type { Logger } from '../telemetry/logs/logger.ts';
import type { OpenTelemetry } from '../telemetry/open/open-telemetry.ts';
import type { Backend } from '../telemetry/telemetry.ts';

/** What keeps the state of each `state_persistence.type`. */
const BACKENDS = { memory: 'memory', disk: 'sqlite', redis: 'redis' } as const;

export interface AdapterOptions {
  readonly config: AdapterConfig;
  readonly logger: Logger;
  /** The same that the logger has. */
  readonly redaction: Redaction;
  /** Where the logger writes, for the lines to be exported too. */
  readonly logOutput: LogOutput;
  /** Variables of the environment, for what OpenTelemetry reads there. */
  readonly env: Environment;
  readonly version: string;
  /** Folder with the files of referenced Secrets and ConfigMaps, whose change is shown in the health object. */
  readonly references?: string;
  /** Where who operates the adapter is answered; undefined: nowhere. */
  readonly admin?: AdminSettings | undefined;
  /** How long running calls may go on after `stop`, in milliseconds. */
  readonly shutdownGraceMs: number;
  /** Ends the process at once (`unavailable_policy: exit`); why has been logged. */
  readonly exit: (reason: string) => void;
}

export type Foundation = Awaited<ReturnType<typeof openFoundation>>;

/**
 * What there is one of under all servers: state, files, sessions, secrets, and the account of held bytes. `opening`
 * closes what was opened here.
 */
export async function openFoundation(options: AdapterOptions, observing: OpenTelemetry, opening: AsyncDisposableStack) {
  const { config, logger } = options;
  const { telemetry } = observing;
  const onError = (error: unknown): void => logger.error({ err: error }, 'unexpected failure');
  const account = accountOf(config);
  const references = await watchedReferences(options);
  opening.defer(async () => references?.stop());
  const state = await openState(options, observing, account);
  opening.defer(() => state.close());
  const { store, bus } = state;
  /** Files are neither deleted nor adopted on the word of a store that is down or replaced by memory. */
  const usable = (): boolean => {
    const { unavailable, degradedReason } = state.status();
    return !unavailable && degradedReason === null;
  };
  const onFileError = (message: string, error: unknown): void => logger.warn({ err: error }, message);
  const opened = storesFiles(config)
    ? await openFiles(config, { store, telemetry, usable, onError: onFileError })
    : undefined;
  opening.defer(async () => opened?.close());
  const limits = new LimitsHit();
  const { max_active: maxActive, max_in_flight_per_session: maxInFlight, idle_ttl_seconds: idle } = config.sessions;
  const idleTtlMs = idle === null ? null : idle * 1000;
  const sessions = new SessionRegistry(store, { maxActive, maxInFlight, idleTtlMs }, limits.counting(telemetry));
  opening.defer(() => sessions.stop());
  const backend = (): Backend => (state.status().fallback ? 'memory' : BACKENDS[config.state_persistence.type]);
  bus.onControl((message) => {
    if (message.type === 'session-ended') opened?.uploads.sessionEnded(message.serverId, message.sessionId);
  });
  return {
    /** Where upstreams and issuers may be. */
    rules: connectRulesFrom(options.env),
    account,
    references,
    state,
    store,
    bus,
    usable,
    opened,
    limits,
    sessions,
    backend,
    telemetry,
    tracing: observing.tracing,
    nonces: observedNonces(store.nonces, telemetry, backend),
    secrets: await openSecrets(config.core, store, () => state.status().fallback),
    notices: new ClientNotices(bus, onError),
    sessionFiles: new SessionFiles(store, opened?.files ?? NO_BYTES, onError),
    /** Any failure as the error to answer with; what is unexpected is logged here. */
    known: (error: unknown): AdapterError => knownError(error, onError).saying(options.redaction.text),
  };
}

function accountOf({ core, servers }: AdapterConfig): ByteAccount {
  const memory = {
    memory: Math.min(process.constrainedMemory() || Infinity, totalmem()),
    heap: getHeapStatistics().heap_size_limit,
    largest: Math.max(core.max_request_body_bytes, MAX_ANSWER_BYTES),
    bodies: core.max_body_bytes_in_flight,
  };
  return new ByteAccount(accountLimits(memory, servers.length));
}

async function watchedReferences({ references, env, logger }: AdapterOptions): Promise<ReferencesWatch | undefined> {
  if (references === undefined) return undefined;
  const ignored = await ignoredVariables(references, env);
  if (ignored.length > 0) {
    logger.warn({ variables: ignored }, 'these variables are code or change trust, so envFrom does not set them');
  }
  return watchReferences(references);
}

function openState(options: AdapterOptions, observing: OpenTelemetry, account: ByteAccount): Promise<OpenedState> {
  const { config, env, logger } = options;
  const { telemetry } = observing;
  const { type: backend, unavailable_policy: policy } = config.state_persistence;
  return openStore(config, {
    exit(reason) {
      logger.fatal({ reason }, 'the state store is unavailable; unavailable_policy is exit');
      if (!telemetry.isOn) return options.exit(reason);
      void observing.terminate().finally(() => options.exit(reason));
    },
    name: env['MCP_ADAPTER_NAME'],
    account,
    log: (message) => logger.warn(message),
    onTransition: (transition) => telemetry.policyTransition({ ...transition, policy, backend }),
  });
}
