/** What the operator was told to allow the authors of resources, beyond what anybody may who may write them. */
export interface Permissions {
  readonly podOverlay: PodOverlay;
  /** Whether secrets may stand in resources as they are. */
  readonly literalSecrets: boolean;
  /** Addresses of the API server, to which pods may not connect; undefined: they may. */
  readonly apiServer: readonly string[] | undefined;
}

/**
 * - `none`: neither `podOverlay` nor `image`.
 * - `restricted`: nothing that leaves the pod for its node, for another account or for another's Service.
 * - `all`: whatever a PodSpec has.
 */
export type PodOverlay = (typeof POD_OVERLAYS)[number];
export const POD_OVERLAYS = ['none', 'restricted', 'all'] as const;

export const DEFAULT_PERMISSIONS: Permissions = { podOverlay: 'restricted', literalSecrets: false, apiServer: [] };

/** Of programs that run resources on the machine of whoever wrote them. */
export const ALL_PERMISSIONS: Permissions = { podOverlay: 'all', literalSecrets: true, apiServer: undefined };
