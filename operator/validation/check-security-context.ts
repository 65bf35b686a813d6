/** Source: Kubernetes, "Pod Security Standards", restricted. */
import { type Path, valueAt } from '../../lib/json/tree.ts';
import { isObject } from '../../lib/json/json-object.ts';
import { listAt, textAt } from '../kubernetes/unstructured.ts';

/** What is wrong with an overlay, with its path. */
export interface Violation {
  readonly at: Path;
  /** A sentence without its subject, which is the path. */
  readonly message: string;
}

/**
 * Privileges that an overlay gives its pod or a container, and confinement that it takes from what the operator made.
 * @param ours name of the container that runs the program
 */
export const securityViolations = (pod: unknown, ours: string): Violation[] => [
  ...contextViolations(pod, true),
  ...['containers', 'initContainers'].flatMap((list) =>
    listAt(pod, list).flatMap((container, index) =>
      contextViolations(container, textAt(container, 'name') === ours).map(({ at, message }) => ({
        at: [list, index, ...at],
        message,
      })),
    ),
  ),
];

/** What a context may not be, with why. */
type Rule = readonly [path: Path, isWrong: (value: unknown) => boolean, message: string];

const isUnconfined = (value: unknown): boolean => value === 'Unconfined';

const RULES: readonly Rule[] = [
  [['privileged'], (value) => value === true, 'makes the container as strong as its node'],
  [['allowPrivilegeEscalation'], (value) => value === true, 'lets its processes gain privileges'],
  [['runAsUser'], (value) => value === 0, 'is the user root'],
  [['runAsNonRoot'], (value) => value === false, 'allows the user root'],
  [['procMount'], (value) => value !== undefined && value !== 'Default', 'shows more of /proc of the node'],
  [['seccompProfile', 'type'], isUnconfined, 'allows every system call'],
  [['appArmorProfile', 'type'], isUnconfined, 'takes the confinement by AppArmor'],
  [['seLinuxOptions', 'user'], isNamed, 'sets a user of SELinux'],
  [['seLinuxOptions', 'role'], isNamed, 'sets a role of SELinux'],
  [['seLinuxOptions', 'type'], (value) => isNamed(value) && !SELINUX_TYPES.has(String(value)), 'is no confined type'],
  [['windowsOptions', 'hostProcess'], (value) => value === true, 'makes the container a process of its node'],
];

const SELINUX_TYPES: ReadonlySet<string> = new Set(['container_t', 'container_init_t', 'container_kvm_t']);

/** Those that Kubernetes calls safe: each holds in its pod only. */
const SYSCTLS: ReadonlySet<string> = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_wmem',
]);

function isNamed(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** @param isConfined whether the operator has given it a context, which must not be taken away */
function contextViolations(holder: unknown, isConfined: boolean): Violation[] {
  const context = valueAt(holder, ['securityContext']);
  const at = (...path: Path): Path => ['securityContext', ...path];
  return [
    ...(isConfined ? removals(context, at()) : []),
    ...RULES.filter(([path, isWrong]) => isWrong(valueAt(context, path))).map(([path, , message]) => ({
      at: at(...path),
      message,
    })),
    ...listAt(context, 'capabilities', 'add').flatMap((capability, index) =>
      capability === 'NET_BIND_SERVICE'
        ? []
        : [{ at: at('capabilities', 'add', index), message: 'is a capability that pods do not get' }],
    ),
    ...listAt(context, 'sysctls').flatMap((sysctl, index) =>
      SYSCTLS.has(textAt(sysctl, 'name') ?? '')
        ? []
        : [{ at: at('sysctls', index), message: 'sets a parameter of the kernel that is not only of the pod' }],
    ),
  ];
}

/** In an overlay, null takes a field away. */
function removals(value: unknown, at: Path): Violation[] {
  if (value === null) return [{ at, message: 'takes away what confines the container' }];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => removals(item, [...at, key]));
}
