import { GROUP as API_GROUP } from '../../../crds/v1alpha1/api.ts';

/** The group that an object belongs to; on every object and pod of it. */
export const GROUP_LABEL = `${API_GROUP}/scrape-group`;
/** Number of the shard, on what each shard has of its own. */
export const SHARD_LABEL = `${API_GROUP}/scrape-shard`;

/** Labels of everything that belongs to a group, and of nothing else. */
function groupLabels(group: string): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'api-scraper',
    'app.kubernetes.io/component': 'scraper',
    'app.kubernetes.io/managed-by': 'mcp-operator',
    [GROUP_LABEL]: group,
  };
}

/**
 * The shard that an object says it belongs to; undefined where it names none that there can be: 999 take more than a
 * million sources, and whoever may write a ConfigMap may write any number as its label.
 */
export function shardIn(labels: Readonly<Record<string, string>> | undefined): number | undefined {
  const text = labels?.[SHARD_LABEL] ?? '';
  return /^[1-9]\d{0,2}$/.test(text) ? Number(text) : undefined;
}

export function shardLabels(group: string, shard: number): Record<string, string> {
  return { ...groupLabels(group), [SHARD_LABEL]: String(shard) };
}

/** How a shard finds its pods. Never changes, because the selector of a Deployment cannot. */
export const shardSelector = (group: string, shard: number): Record<string, string> => ({
  [GROUP_LABEL]: group,
  [SHARD_LABEL]: String(shard),
});

/**
 * The name of the objects of a shard, counted from 1: `scraper-G`, then `scraper2-G`. The number does not stand behind
 * the name, where it could be part of another group's name.
 */
export const shardName = (group: string, shard: number): string => `scraper${shard === 1 ? '' : shard}-${group}`;

export const configMapName = (group: string, shard: number): string => `${shardName(group, shard)}-config`;
