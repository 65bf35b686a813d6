import type { Resource } from './kubernetes.ts';

/** Of objects that may have 1 MiB. */
const LARGE = { pageSize: 20 };

/** The resources that the operator reads or writes. */
const core = (kind: string, plural: string): Resource => ({ apiVersion: 'v1', kind, plural, namespaced: true });
const of = (apiVersion: string, kind: string, plural: string): Resource => ({
  apiVersion,
  kind,
  plural,
  namespaced: true,
});

export const MCP_ADAPTERS = of('mcpadapter.io/v1alpha1', 'McpAdapter', 'mcpadapters');
export const MCP_TOOL_LOCKS: Resource = { ...of('mcpadapter.io/v1alpha1', 'McpToolLock', 'mcptoollocks'), ...LARGE };
export const API_SCRAPE_SOURCES = of('mcpadapter.io/v1alpha1', 'ApiScrapeSource', 'apiscrapesources');

/** Some hold a tool lock. */
export const CONFIG_MAPS: Resource = { ...core('ConfigMap', 'configmaps'), ...LARGE };
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
