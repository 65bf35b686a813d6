import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Cluster, isRunning } from './cluster.ts';
import { type Image, productImage, redisImage } from './images.ts';
import { SHARED_DIR } from './support.ts';

/** The cluster of all tests, started by the first that asks, with the images of this working copy. */
export async function sharedCluster(): Promise<Cluster> {
  const cluster = (await isRunning(SHARED_DIR)) ? new Cluster(SHARED_DIR) : await Cluster.start(SHARED_DIR);
  for (const image of await Promise.all([productImage(), redisImage()])) await loadOnce(cluster, image);
  return cluster;
}

/** Name of the release, of its namespace, and of everything in it. */
export const OPERATOR = 'mcp-operator';
const CHART = join(import.meta.dirname, '../../helm/mcp-operator');
export const CRD_CHART = join(import.meta.dirname, '../../helm/mcp-operator-crds');
export const CRD_RELEASE = 'mcp-operator-crds';

/** The shared cluster with the operator installed from its chart, as a user would. */
export async function clusterWithOperator(): Promise<Cluster> {
  const cluster = await sharedCluster();
  await installOperator(cluster);
  return cluster;
}

/** The CRDs, whoever brought them before. */
export async function installCrds(cluster: Cluster, chart = CRD_CHART): Promise<void> {
  const where = ['--namespace', OPERATOR, '--create-namespace', '--take-ownership', '--wait', '--timeout', '60s'];
  await cluster.helm('upgrade', '--install', CRD_RELEASE, chart, ...where);
}

/**
 * The CRDs, and `helm upgrade --install` with the values of the chart, and these; not with those of the last time, which helm keeps
 * where it gets none. Resolves when the operator is ready.
 */
export async function installOperator(cluster: Cluster, ...args: readonly string[]): Promise<void> {
  await installCrds(cluster);
  const where = ['--namespace', OPERATOR, '--create-namespace', '--wait', '--timeout', '120s', '--reset-values'];
  await cluster.helm('upgrade', '--install', OPERATOR, CHART, ...where, ...args);
}

async function loadOnce(cluster: Cluster, { tar }: Image): Promise<void> {
  const loaded = join(cluster.dir, 'loaded');
  const mark = join(loaded, basename(tar));
  const isLoaded = await readFile(mark).then(
    () => true,
    () => false,
  );
  if (isLoaded) return;
  await cluster.load(tar);
  await mkdir(loaded, { recursive: true });
  await writeFile(mark, '');
}
