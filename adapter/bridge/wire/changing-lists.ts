/** Lists that may change: the part of a filter, the capability, and the notification (MCP 2026-07-28, subscriptions). */
export const CHANGING_LISTS = [
  ['toolsListChanged', 'tools', 'notifications/tools/list_changed'],
  ['promptsListChanged', 'prompts', 'notifications/prompts/list_changed'],
  ['resourcesListChanged', 'resources', 'notifications/resources/list_changed'],
] as const;

export type ChangingList = (typeof CHANGING_LISTS)[number];
