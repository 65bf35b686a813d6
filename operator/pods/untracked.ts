/** With these, GitOps tools take an object for one of their own and prune it, because their repository lacks it. */
const isTracking = (key: string): boolean =>
  key === 'app.kubernetes.io/instance' ||
  key.startsWith('argocd.argoproj.io/') ||
  key.startsWith('kubectl.kubernetes.io/last-applied');

/** Without what GitOps tools know their own objects by. */
export const untracked = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !isTracking(key)));
