import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { CLUSTER_BIN, execute } from '../cluster/kubectl.ts';

export const CHART = join(import.meta.dirname, '../../helm/mcp-operator');
export const CRD_CHART = join(import.meta.dirname, '../../helm/mcp-operator-crds');
const HELM = join(CLUSTER_BIN, 'helm');

/** An object that the chart makes. */
export interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
  readonly [member: string]: unknown;
}

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export interface Helm {
  run(...args: readonly string[]): Promise<string>;
  /** The text of all objects of a release `mcp-operator` in the namespace `mcp-operator`, with these values. */
  template(values?: object, chart?: string): Promise<string>;
  objects(values?: object, chart?: string): Promise<Rendered[]>;
}

/** A test of the chart alone: helm, and no cluster. */
export const test = base.extend<{ helm: Helm }>({
  helm: async ({ skip }, use) => {
    const isBuilt = await access(HELM, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isBuilt) skip(`helm is not in ${CLUSTER_BIN}: run e2e/cluster/build, which needs Go 1.26`);
    const run = (...args: readonly string[]): Promise<string> => execute(HELM, args);
    const template = (values: object = {}, chart = CHART): Promise<string> =>
      execute(
        HELM,
        ['template', 'mcp-operator', chart, '--namespace', 'mcp-operator', '--values', '-'],
        JSON.stringify(values),
      );
    const objects = async (values: object = {}, chart = CHART): Promise<Rendered[]> =>
      parseAllDocuments(await template(values, chart))
        .map((document) => document.toJS() as Rendered | null)
        .filter((object) => object !== null);
    await use({ run, template, objects });
  },
});
