/** What of a resource's configuration the operator can know: values hold `${NAME}`, whose values only the pods see. */
import type { McpAdapterSpec } from '../../crds/v1alpha1/mcp-adapter.ts';

/** A connection that the adapter makes. */
export interface Connection {
  /** Path of the field that names it, such as `servers[0].upstream.url`. */
  readonly field: string;
  /** Undefined when it depends on a variable. IPv6 addresses stand without brackets. */
  readonly target: { readonly host: string; readonly ports: readonly number[] } | undefined;
}

export interface EffectiveConfig {
  /** The address to listen on; undefined when it depends on a variable. */
  readonly host: string | undefined;
  readonly port: number;
  /** Whether the port depends on a variable; `port` is the default then. */
  readonly portUnknown: boolean;
  /** Absolute path; the default when it depends on a variable. */
  readonly storageRoot: string;
  /** Undefined when it depends on a variable. */
  readonly stateType: 'memory' | 'disk' | 'redis' | undefined;
  /** Absolute path of the SQLite file when one is written outside of the storage root. */
  readonly statePathOutside: string | undefined;
  /** How long running calls may go on after SIGTERM, in whole seconds: as long as the longest tool call may take. */
  readonly shutdownSeconds: number;
  readonly authEnabled: boolean | undefined;
  readonly servers: readonly {
    readonly id: string | undefined;
    /** With a leading slash; undefined when it depends on a variable. */
    readonly mountPath: string | undefined;
    readonly url: string | undefined;
  }[];
  /** Upstreams, then Redis, then telemetry. */
  readonly connections: readonly Connection[];
}

/** The values that are certain: written out, or resolved from `spec.env`; else defaults or undefined. Never throws. */
export function effectiveConfig(spec: McpAdapterSpec): EffectiveConfig {
  void spec;
  throw new Error('not yet');
}
