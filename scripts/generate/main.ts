/**
 * `npm run generate`: writes the files that are derived from others: first those of the schemas (crds/generate), then
 * those that are made of these. With `--check` it writes nothing, and fails when one differs. deploy/ is rendered by helm;
 * without it, it stays as it is, and the suite `cluster` compares.
 */
import { spawnSync } from 'node:child_process';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CLUSTER_BIN } from '../../e2e/cluster/kubectl.ts';
import { ROOT } from '../suite/command.ts';
import { adrPage } from './adr-index.ts';
import { argoCdConfig } from './argo-cd-config.ts';
import { commandsPage } from './commands-page.ts';
import { dashboardFiles } from './dashboards/dashboard-files.ts';
import { errorsPage } from './errors-page.ts';
import { messagePaths } from './message-paths.ts';
import { metricsPage } from './metrics-page.ts';
import { plainManifests } from './plain-manifests.ts';
import { pluginPage } from './plugin-page.ts';
import { securityPage } from './security-page.ts';

const args = process.argv.slice(2);
const schemas = spawnSync(process.execPath, [join(ROOT, 'crds/generate/main.ts'), ...args], { stdio: 'inherit' });
if (schemas.status !== 0) process.exit(schemas.status ?? 1);

const files: Record<string, string> = {
  'gitops/argocd/argocd-cm.yaml': await argoCdConfig(),
  'docs/architecture/steps.md': await messagePaths(),
  'docs/reference/commands.md': commandsPage(),
  'docs/reference/kubectl-mcpadapter.md': pluginPage(),
  'docs/reference/errors.md': errorsPage(),
  'docs/reference/metrics.md': metricsPage(),
  'docs/adr/README.md': await adrPage(),
  'docs/security.md': await securityPage(),
  ...dashboardFiles(),
};
const hasHelm = await access(join(CLUSTER_BIN, 'helm')).then(
  () => true,
  () => false,
);
if (hasHelm) {
  const { crds, operator } = await plainManifests();
  files['deploy/crds.yaml'] = crds;
  files['deploy/operator.yaml'] = operator;
} else {
  console.error('deploy/ is left as it is: helm is missing, which e2e/cluster/build makes');
}

for (const [path, content] of Object.entries(files)) {
  const current = await readFile(join(ROOT, path), 'utf8').catch(() => undefined);
  if (current === content) continue;
  if (args[0] === '--check') {
    console.error(`${path} is not up to date; run npm run generate`);
    process.exitCode = 1;
  } else {
    await writeFile(join(ROOT, path), content);
    console.log(`wrote ${path}`);
  }
}
