import type { Resource } from './kubernetes.ts';

/** The resources that the operator reads or writes. */
const core = (kind: string, plural: string): Resource => ({ apiVersion: 'v1', kind, plural, namespaced: true });
const of = (apiVersion: string, kind: string, plural: string): Resource => ({
  apiVersion,
  kind,
  plural,
  namespaced: true,
});

export const MCP_ADAPTERS = of('mcpadapter.io/v1alpha1', 'McpAdapter', 'mcpadapters');
export const MCP_TOOL_LOCKS = of('mcpadapter.io/v1alpha1', 'McpToolLock', 'mcptoollocks');
export const API_SCRAPE_SOURCES = of('mcpadapter.io/v1alpha1', 'ApiScrapeSource', 'apiscrapesources');

export const CONFIG_MAPS = core('ConfigMap', 'configmaps');
export const SERVICES = core('Service', 'services');
export const SERVICE_ACCOUNTS = core('ServiceAccount', 'serviceaccounts');
export const STORAGE_CLAIMS = core('PersistentVolumeClaim', 'persistentvolumeclaims');
export const PODS = core('Pod', 'pods');
export const DEPLOYMENTS = of('apps/v1', 'Deployment', 'deployments');
export const DISRUPTION_BUDGETS = of('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets');
export const AUTOSCALERS = of('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers');
export const NETWORK_POLICIES = of('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies');
export const INGRESSES = of('networking.k8s.io/v1', 'Ingress', 'ingresses');
export const HTTP_ROUTES = of('gateway.networking.k8s.io/v1', 'HTTPRoute', 'httproutes');
export const SERVICE_MONITORS = of('monitoring.coreos.com/v1', 'ServiceMonitor', 'servicemonitors');
export const LEASES = of('coordination.k8s.io/v1', 'Lease', 'leases');
export const EVENTS = of('events.k8s.io/v1', 'Event', 'events');
export const NAMESPACES: Resource = { ...core('Namespace', 'namespaces'), namespaced: false };
export const CUSTOM_RESOURCE_DEFINITIONS: Resource = {
  ...of('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions'),
  namespaced: false,
};
