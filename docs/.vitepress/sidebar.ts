import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Pages by section, in the order of the sidebar. A page is called as its first heading. Decisions have their index. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  Start: ['start/local', 'start/helm', 'start/kubectl', 'start/argo-cd'],
  Adapter: [
    'adapter/configuration',
    'adapter/files',
    'adapter/profiles',
    'adapter/results',
    'adapter/tools',
    'adapter/tool-lock',
    'adapter/code-mode',
    'adapter/sessions',
    'adapter/revisions',
    'identity',
    'adapter/endpoints',
  ],
  Scraper: [
    'scraper/overview',
    'scraper/delivery',
    'scraper/output',
    'scraper/pods',
    'scraper/limits',
    'scraper/admin-api',
  ],
  Operator: [
    'operator/overview',
    'operator/rights',
    'operator/network',
    'operator/groups',
    'operator/tool-lock',
    'operator/conditions',
    'operator/kubectl',
  ],
  Operations: [
    'operations/troubleshooting',
    'operations/sizing',
    'operations/backup',
    'operations/upgrades',
    'operations/telemetry',
    'operations/secure-setup',
    'security',
  ],
  Alerts: ['runbooks/overview', ...inFolder('runbooks').filter((page) => page !== 'runbooks/overview')],
  'Coming from the originals': ['originals/remote-mcp-adapter', 'originals/otel-api-scraper'],
  Reference: [
    'reference/adapter-configuration',
    'reference/scraper-configuration',
    'reference/mcp-adapter',
    'reference/api-scrape-source',
    'reference/mcp-tool-lock',
    'reference/errors',
    'reference/metrics',
    'reference/commands',
    'reference/kubectl-mcpadapter',
  ],
  Architecture: [
    'architecture/overview',
    'architecture/call',
    'architecture/steps',
    'architecture/resource',
    'architecture/window',
    'glossary',
    'adr/README',
  ],
};

/** Sections that are long, or that few readers want at first. */
const COLLAPSED: readonly string[] = ['Alerts', 'Coming from the originals', 'Reference', 'Architecture'];

export const NAVIGATION = [
  { text: 'Start', link: '/docs/start/local' },
  { text: 'Alerts', link: '/docs/runbooks/overview' },
  { text: 'Reference', link: '/docs/reference/adapter-configuration' },
  { text: 'Changes', link: '/CHANGELOG' },
  { text: 'Report a vulnerability', link: '/SECURITY' },
];

export interface Section {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: { readonly text: string; readonly link: string }[];
}

export function sidebar(): Section[] {
  return Object.entries(SECTIONS).map(([text, pages]) => ({
    text,
    collapsed: COLLAPSED.includes(text),
    items: pages.map((page) => ({ text: titleOf(`docs/${page}.md`), link: `/docs/${page}` })),
  }));
}

/** The pages of a folder, by name. */
function inFolder(folder: string): string[] {
  return globSync('*.md', { cwd: join(ROOT, 'docs', folder) })
    .toSorted()
    .map((file) => `${folder}/${basename(file, '.md')}`);
}

function titleOf(file: string): string {
  const [, title] = /^# (.*)$/m.exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
  if (title === undefined) throw new Error(`${file} has no title`);
  return title;
}
