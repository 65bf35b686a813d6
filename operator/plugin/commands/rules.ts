/** The rules of Roles that commands need, each once. */
import { GROUP } from '../../../crds/v1alpha1/api.ts';
import type { Rule } from './command.ts';

const rule = (group: string, resource: string, ...verbs: string[]): Rule => ({
  apiGroups: [group],
  resources: [resource],
  verbs,
});

export const LIST_ADAPTERS = rule(GROUP, 'mcpadapters', 'list');
export const GET_ADAPTER = rule(GROUP, 'mcpadapters', 'get');
export const PATCH_ADAPTER = rule(GROUP, 'mcpadapters', 'patch');
export const LIST_SOURCES = rule(GROUP, 'apiscrapesources', 'list');
export const LIST_LOCKS = rule(GROUP, 'mcptoollocks', 'list');
export const CREATE_LOCK = rule(GROUP, 'mcptoollocks', 'create');
export const PATCH_LOCK = rule(GROUP, 'mcptoollocks', 'patch');
export const GET_SOURCE = rule(GROUP, 'apiscrapesources', 'get');
export const LIST_PODS = rule('', 'pods', 'list');
export const PATCH_SOURCE = rule(GROUP, 'apiscrapesources', 'patch');
export const LIST_EVENTS = rule('events.k8s.io', 'events', 'list');
export const EVICT = rule('', 'pods/eviction', 'create');
export const READ_LOGS = rule('', 'pods/log', 'get');
/** Over a WebSocket the request is a GET; newer API servers ask for `create` beside it. */
export const FORWARD = rule('', 'pods/portforward', 'create', 'get');
