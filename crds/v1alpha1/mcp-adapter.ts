import { z } from 'zod';
import { AdapterConfig, type AdapterConfigInput } from '../config/adapter-file/adapter.ts';
import { annotations, kubernetes, labels, newClaim, objectName, podFields, quantity, type ObjectMeta } from './api.ts';
import { Condition } from './conditions.ts';

/** Where the folder `config.storage.root` comes from: exactly one of the three, or none for a temporary folder. */
const StorageClaim = z.strictObject({
  claim: newClaim('Access modes. More than one replica needs `ReadWriteMany`. Default: `[ReadWriteOnce]`.')
    .optional()
    .describe('A PersistentVolumeClaim that the operator makes.'),
  existingClaim: objectName().optional().describe('A PersistentVolumeClaim that exists already.'),
  temporary: z
    .strictObject({ sizeLimit: quantity().optional().describe('Most bytes that it may hold.') })
    .optional()
    .describe('A folder that lives as long as its pod, for a single replica.'),
});

const Service = z.strictObject({
  type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).optional().describe('Type. Default: `ClusterIP`.'),
  port: z.int().min(1).max(65_535).optional().describe('Port of the Service. Default: `config.core.port`.'),
  nodePort: z.int().min(1).max(65_535).optional().describe('Port on the nodes, for type `NodePort`.'),
  annotations: annotations().optional().describe('Annotations of the Service.'),
  labels: labels().optional().describe('More labels of the Service.'),
});

const Ingress = z.strictObject({
  host: z.string().min(1).max(253).describe('Host name at which clients reach the adapter.'),
  path: z.string().max(1024).regex(/^\//).optional().describe('Path prefix. Default: `/`.'),
  className: z.string().max(253).optional().describe('Ingress class. Default: that of the cluster.'),
  tlsSecretName: objectName().optional().describe('Secret with the certificate; with it URLs start with https.'),
  annotations: annotations().optional().describe('Annotations of the Ingress.'),
});

const HttpRoute = z.strictObject({
  parentRefs: z.array(kubernetes()).min(1).max(16).describe('Gateways that the route attaches to.'),
  hostnames: z.array(z.string().min(1).max(253)).max(16).optional().describe('Host names that are matched.'),
  annotations: annotations().optional().describe('Annotations of the HTTPRoute.'),
});

const Autoscaling = z.strictObject({
  minReplicas: z.int().min(1).optional().describe('Fewest pods. Default: 1.'),
  maxReplicas: z.int().min(1).describe('Most pods.'),
  targetCPUUtilizationPercentage: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('Average use of the requested CPU to keep. Default: 80, when `metrics` is not set.'),
  metrics: z.array(kubernetes()).max(16).optional().describe('Metrics as in autoscaling/v2, instead of the CPU.'),
  behavior: kubernetes().optional().describe('How fast to scale, as in autoscaling/v2.'),
});

const intOrPercent = () =>
  z.union([z.int().min(0), z.string().regex(/^[0-9]+%$/)], { error: 'a number or a percentage' });

const DisruptionBudget = z.strictObject({
  enabled: z.boolean().optional().describe('Whether there is one, above one replica. Default: true.'),
  minAvailable: intOrPercent().optional().describe('Fewest pods that must stay.'),
  maxUnavailable: intOrPercent().optional().describe('Most pods that may go at once. Default: 1.'),
});

const NetworkPolicy = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .describe('Whether pods may only connect to their upstreams, Redis, the collector and DNS. Default: true.'),
  extraEgress: z.array(kubernetes()).max(64).optional().describe('More rules for connections of the pods.'),
  ingress: z
    .array(kubernetes())
    .max(64)
    .optional()
    .describe('Rules for connections to the pods. Default: everyone may connect to the ports for clients and metrics.'),
});

const ServiceMonitor = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .describe('Whether there is one, where its API exists. Needs `config.telemetry.prometheus`. Default: false.'),
  interval: z
    .string()
    .regex(/^([0-9]+(ms|s|m|h))+$/)
    .optional()
    .describe('Time between two scrapes.'),
  labels: labels().optional().describe('More labels of the ServiceMonitor.'),
});

/** What a user writes. `config` is checked by the adapter's own schema; see `checkAdapterConfig`. */
export const McpAdapterSpec = z.strictObject({
  config: AdapterConfig.describe('The configuration file of the adapter, exactly as it would stand in the file.'),
  replicas: z
    .int()
    .min(0)
    .max(1000)
    .optional()
    .describe('Number of pods. More than 1 needs Redis and storage that is ReadWriteMany, or a bucket. Default: 1.'),
  ...podFields,
  storage: StorageClaim.optional().describe('Where `config.storage.root` is kept. Default: a temporary folder.'),
  deletionPolicy: z
    .enum(['Retain', 'Delete'])
    .optional()
    .describe('Whether the claim that the operator made outlives this resource. Default: `Retain`.'),
  service: Service.optional().describe('The Service in front of the pods.'),
  ingress: Ingress.optional().describe('An Ingress for the Service.'),
  httpRoute: HttpRoute.optional().describe('An HTTPRoute of the Gateway API for the Service.'),
  autoscaling: Autoscaling.optional().describe('A HorizontalPodAutoscaler; `replicas` then has no effect.'),
  disruptionBudget: DisruptionBudget.optional().describe('The PodDisruptionBudget.'),
  networkPolicy: NetworkPolicy.optional().describe('The NetworkPolicy.'),
  serviceMonitor: ServiceMonitor.optional().describe('A ServiceMonitor of the Prometheus operator.'),
});
export type McpAdapterSpec = Omit<z.output<typeof McpAdapterSpec>, 'config'> & {
  readonly config: AdapterConfigInput;
};

const UpstreamStatus = z.strictObject({
  id: z.string().describe('Id of the server.'),
  healthy: z.boolean().describe('Whether every pod reaches it.'),
  message: z.string().optional().describe('What is wrong.'),
});

export const McpAdapterStatus = z.strictObject({
  observedGeneration: z.int().optional().describe('Generation of the spec that this status is about.'),
  conditions: z.array(Condition).optional().describe('What holds, and why.'),
  replicas: z.int().optional().describe('Number of pods.'),
  readyReplicas: z.int().optional().describe('Number of pods that serve.'),
  selector: z.string().optional().describe('Label selector of the pods, for autoscalers.'),
  url: z.string().optional().describe('Where clients reach the adapter. Set once it answered there.'),
  configHash: z.string().optional().describe('Hash of the configuration that all pods run.'),
  upstreams: z.array(UpstreamStatus).optional().describe('The upstreams as the pods see them.'),
  upstreamsHealthy: z.string().optional().describe('Healthy upstreams of all, such as `3/4`.'),
});
export type McpAdapterStatus = z.output<typeof McpAdapterStatus>;

/** A resource as the API server gives it. Its spec is unchecked but for what the CRD's schema refuses. */
export interface McpAdapter {
  readonly apiVersion: string;
  readonly kind: 'McpAdapter';
  readonly metadata: ObjectMeta;
  readonly spec: McpAdapterSpec;
  readonly status?: McpAdapterStatus;
}
