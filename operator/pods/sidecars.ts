/** What containers that the overlay adds need not say. */

interface Container {
  readonly name?: string;
  readonly image?: string;
  readonly securityContext?: object;
}
type PodSpec = Readonly<Record<string, unknown>>;

/** A container without privileges, as the Pod Security Standard `restricted` demands beside what the pod itself has. */
const unprivileged = (): object => ({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } });

/**
 * Every container but `ours` gets the image of the adapter when it names none, because that image holds more programs than
 * one, and no privileges when it has no security context of its own.
 */
export function withSidecarDefaults(spec: PodSpec, ours: string, image: string): PodSpec {
  const complete = (container: Container): Container =>
    container.name === ours ? container : { image, securityContext: unprivileged(), ...container };
  const lists = ['initContainers', 'containers'].flatMap((list) => {
    const containers = spec[list];
    return Array.isArray(containers) ? [[list, containers.map((one: Container) => complete(one))] as const] : [];
  });
  return { ...spec, ...Object.fromEntries(lists) };
}
