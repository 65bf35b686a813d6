import { realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';

const ROOT = join(import.meta.dirname, '../../..');
const GROUP = 65532;
const STORAGE = '/data/shared';
const PORT = 8931;

/** Programs and libraries of this machine that Chromium is made of; an image of them would have 600 MB. */
const MACHINE = [
  '/usr',
  '/lib',
  '/lib64',
  '/bin',
  '/etc/fonts',
  '/etc/chromium',
  '/etc/chromium.d',
  '/etc/alternatives',
];

const config = (reachable: string): object => ({
  browser: {
    browserName: 'chromium',
    isolated: true,
    launchOptions: {
      executablePath: '/usr/bin/chromium',
      headless: true,
      chromiumSandbox: false,
      args: [
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-dev-shm-usage',
        '--disable-gpu',
        '--disable-sync',
        '--no-first-run',
        // The browser must reach nobody but the page of the test.
        `--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE ${reachable}`,
      ],
    },
  },
});

/**
 * `NAME:8931` is `@playwright/mcp` with the Chromium of this machine, and with the volume of a claim. Its user has no
 * rights on the volume but those of the group that all pods have in common.
 */
export function browser(name: string, claimName: string, image: string, reachable: string): object[] {
  const labels = { app: name };
  const node = realpathSync(process.execPath);
  const program = join(dirname(createRequire(import.meta.url).resolve('@playwright/mcp/package.json')), 'cli.js');
  const mounts = [
    ...MACHINE.filter(isThere).map((path) => ({ from: realpathSync(path), to: path })),
    { from: ROOT, to: ROOT },
    // Somewhere else than what is mounted already.
    { from: dirname(node), to: '/node' },
  ].map(({ from, to }, index) => ({ name: `machine-${index}`, from, to }));
  const settings = { name: `${name}-config`, mountPath: '/browser' };
  const command = ['/node/node', program, '--config', '/browser/config.json', '--output-dir', STORAGE];
  return [
    { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { selector: labels, ports: [{ port: PORT }] } },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: settings.name },
      data: { 'config.json': JSON.stringify(config(reachable)) },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 1,
            enableServiceLinks: false,
            securityContext: { fsGroup: GROUP, fsGroupChangePolicy: 'OnRootMismatch' },
            containers: [
              {
                name,
                image,
                command: [...command, '--host', '0.0.0.0', '--port', String(PORT), '--allowed-hosts', '*'],
                env: [{ name: 'HOME', value: '/tmp' }],
                // Whom the sources belong to may read them, whatever their mode, and nothing else by might.
                securityContext: {
                  runAsUser: statSync(ROOT).uid,
                  allowPrivilegeEscalation: false,
                  capabilities: { drop: ['ALL'] },
                },
                ports: [{ containerPort: PORT }],
                readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
                volumeMounts: [
                  ...mounts.map((mount) => ({ name: mount.name, mountPath: mount.to, readOnly: true })),
                  { name: 'files', mountPath: STORAGE },
                  { name: 'tmp', mountPath: '/tmp' },
                  settings,
                ],
              },
            ],
            volumes: [
              ...mounts.map((mount) => ({ name: mount.name, hostPath: { path: mount.from } })),
              { name: 'files', persistentVolumeClaim: { claimName } },
              { name: 'tmp', emptyDir: {} },
              { name: settings.name, configMap: { name: settings.name } },
            ],
          },
        },
      },
    },
  ];
}

const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
