/** Whether this machine can run a cluster with nodes, and where the one of the tests lies. */
import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { CLUSTER_BIN } from './kubectl.ts';

/**
 * Folder of the cluster that all tests share. A cluster that a developer started in $CLUSTER_DIR is used and left as it
 * is; otherwise the tests start one in a folder of this user, and stop it at the end.
 */
export const SHARED_DIR = process.env['CLUSTER_DIR'] ?? join(tmpdir(), `mcp-cluster-${process.getuid?.() ?? 0}`);
export const IS_OWN = process.env['CLUSTER_DIR'] === undefined;

/** Programs that the cluster runs, besides those that it is built from. */
export const PROGRAMS = {
  runc: 'runc',
  busybox: 'busybox-static',
  nft: 'nftables',
  ip: 'iproute2',
  openssl: 'openssl',
};

/** The last ones that `build` makes, for each of its two goals. */
const LAST_BUILT = {
  apiserver: ['etcd', 'kube-apiserver', 'kubectl'],
  all: ['kubelet', 'containerd', 'coredns', 'helm'],
};

/** Bits of CapEff in /proc/self/status; see capabilities(7). */
const CAPABILITIES = { CAP_NET_ADMIN: 12n, CAP_SYS_ADMIN: 21n };

/** Why no cluster with nodes can run here, for `context.skip`; undefined when one can. */
export async function whyNoCluster(): Promise<string | undefined> {
  const machine = await whyNotThisMachine();
  if (machine !== undefined) return machine;
  for (const [program, aptPackage] of Object.entries(PROGRAMS)) {
    if (!(await isInstalled(program))) return `${program} is missing: apt-get install ${aptPackage}`;
  }
  return await whyNotBuilt('all');
}

/** Why neither root nor packages would help. */
export async function whyNotThisMachine(): Promise<string | undefined> {
  if (process.platform !== 'linux') return `a cluster needs Linux; this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'a cluster needs root, for network and containers; this is another user';
  const status = await readFile('/proc/self/status', 'utf8');
  const effective = BigInt(`0x${/^CapEff:\s*(\w+)/m.exec(status)?.[1] ?? '0'}`);
  const lacking = Object.entries(CAPABILITIES).filter(([, bit]) => (effective & (1n << bit)) === 0n);
  if (lacking.length === 0) return undefined;
  return `a cluster needs ${lacking.map(([name]) => name).join(' and ')}, which this container does not have`;
}

/** Why there are no binaries of Kubernetes for this. */
export async function whyNotBuilt(goal: 'all' | 'apiserver'): Promise<string | undefined> {
  for (const name of LAST_BUILT[goal]) {
    if (!(await isExecutable(join(CLUSTER_BIN, name)))) {
      return `${name} is not in ${CLUSTER_BIN}: run e2e/cluster/build ${goal === 'all' ? '' : goal}, which needs Go 1.26`;
    }
  }
  return undefined;
}

export async function isInstalled(program: string): Promise<boolean> {
  // Of root, too, when PATH is that of somebody else.
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  for (const folder of folders) if (await isExecutable(join(folder, program))) return true;
  return false;
}

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
