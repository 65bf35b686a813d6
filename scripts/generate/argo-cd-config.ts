import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What is paused and restarted. */
const WITH_PODS = ['McpAdapter', 'ApiScrapeSource'];
const KINDS = [...WITH_PODS, 'McpToolLock'];
const ACTIONS = ['pause', 'resume', 'restart'];
const FOLDER = join(import.meta.dirname, '../../gitops/argocd');

/**
 * The snippet for the ConfigMap argocd-cm, from the Lua files in gitops/argocd. All kinds have the same conditions, so
 * all have the same health; those with pods have the same actions.
 */
export async function argoCdConfig(): Promise<string> {
  const health = await lua('health.lua');
  const actions = ['discovery.lua: |', indented(await lua('actions/discovery.lua'), 2), 'definitions:'];
  for (const name of ACTIONS) {
    actions.push(`  - name: ${name}`, '    action.lua: |', indented(await lua(`actions/${name}.lua`), 6));
  }
  const data = KINDS.flatMap((kind) => [
    `  resource.customizations.health.mcpadapter.io_${kind}: |`,
    indented(health, 4),
    ...(WITH_PODS.includes(kind)
      ? [`  resource.customizations.actions.mcpadapter.io_${kind}: |`, indented(actions.join('\n'), 4)]
      : []),
  ]);
  return [
    '# Health and actions of McpAdapter and ApiScrapeSource, and health of McpToolLock, in Argo CD. Generated from the Lua files beside it.',
    '# kubectl -n argocd patch configmap argocd-cm --patch-file gitops/argocd/argocd-cm.yaml',
    'apiVersion: v1',
    'kind: ConfigMap',
    'metadata:',
    '  name: argocd-cm',
    '  namespace: argocd',
    '  labels:',
    '    app.kubernetes.io/name: argocd-cm',
    '    app.kubernetes.io/part-of: argocd',
    'data:',
    ...data,
    '',
  ].join('\n');
}

const lua = async (path: string): Promise<string> => (await readFile(join(FOLDER, path), 'utf8')).trimEnd();

const indented = (text: string, spaces: number): string => text.replaceAll(/^(?=.)/gm, ' '.repeat(spaces));
