/** What both kinds share: the API group, and the fields of their specs that have the same meaning in each. */
import { z } from 'zod';

export const GROUP = 'mcpadapter.io';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** A part of a Kubernetes API of its own (such as a container's `resources`), passed on as it is written. */
export function kubernetes() {
  return z.record(z.string(), z.unknown(), { error: 'an object' });
}

/** A name of an object in the same namespace (RFC 1123 subdomain). */
export const objectName = () =>
  z
    .string({ error: 'the name of an object' })
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, { error: 'a lower-case name of letters, digits, - and .' });

const stringMap = () => z.record(z.string().max(317), z.string().max(65_536), { error: 'a map of texts' });

export const labels = stringMap;
export const annotations = stringMap;

const ACCESS_MODES = ['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOncePod'] as const;

export const quantity = () =>
  z.union([z.string().regex(/^[0-9]+(\.[0-9]+)?([EPTGMk]i?|Ki|m)?$/), z.int().min(1)], {
    error: 'a quantity such as 10Gi',
  });

/** A PersistentVolumeClaim that the operator makes. */
export const newClaim = (accessModes: string) =>
  z.strictObject({
    size: quantity().describe('Size that is asked for, such as `10Gi`.'),
    storageClassName: z.string().max(253).optional().describe('Storage class. Default: that of the cluster.'),
    accessModes: z.array(z.enum(ACCESS_MODES)).min(1).max(3).optional().describe(accessModes),
    annotations: annotations().optional().describe('Annotations of the claim.'),
  });
export type NewClaim = z.output<ReturnType<typeof newClaim>>;

const keyOf = () =>
  z.strictObject({
    name: objectName().describe('Name of the object, in the same namespace.'),
    key: z.string().min(1).max(253).describe('Key in its data.'),
    optional: z.boolean().optional().describe('Whether the pod may start without it.'),
  });

/** A variable for `${NAME}` in the configuration: a value, or a key of a Secret or ConfigMap of the same namespace. */
export const EnvVar = z.strictObject({
  name: z
    .string()
    .max(253)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'letters, digits and _, not starting with a digit' })
    .describe('Name of the variable.'),
  value: z.string().max(65_536).optional().describe('Its value. Secrets belong into a Secret.'),
  valueFrom: z
    .strictObject({
      secretKeyRef: keyOf().optional().describe('A key of a Secret.'),
      configMapKeyRef: keyOf().optional().describe('A key of a ConfigMap.'),
    })
    .optional()
    .describe('Where the value comes from: exactly one of `secretKeyRef` and `configMapKeyRef`.'),
});
export type EnvVar = z.output<typeof EnvVar>;

const wholeObject = () =>
  z.strictObject({
    name: objectName().describe('Name of the object, in the same namespace.'),
    optional: z.boolean().optional().describe('Whether the pod may start without it.'),
  });

/** All keys of a Secret or ConfigMap as variables. */
export const EnvFrom = z.strictObject({
  prefix: z
    .string()
    .max(253)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .optional()
    .describe('Put before each name.'),
  secretRef: wholeObject().optional().describe('A Secret.'),
  configMapRef: wholeObject().optional().describe('A ConfigMap.'),
});
export type EnvFrom = z.output<typeof EnvFrom>;

/** How the pods of a resource are made; the same for both kinds. */
export const podFields = {
  image: z.string().min(1).max(1024).optional().describe('Container image. Default: the image of the operator.'),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional().describe('When the image is pulled.'),
  imagePullSecrets: z
    .array(z.strictObject({ name: objectName().describe('Name of the Secret.') }))
    .max(16)
    .optional()
    .describe('Secrets with credentials for the registry.'),
  env: z
    .array(EnvVar)
    .max(256)
    .optional()
    .describe('Variables for `${NAME}`. Only variables of `env` and `envFrom` can be used in the configuration.'),
  envFrom: z.array(EnvFrom).max(32).optional().describe('Secrets and ConfigMaps whose keys become variables.'),
  resources: kubernetes().optional().describe('Requests and limits of the container, as in a pod.'),
  podOverlay: z
    .strictObject({
      metadata: z
        .strictObject({
          labels: labels().optional().describe('More labels of the pods.'),
          annotations: annotations().optional().describe('More annotations of the pods.'),
        })
        .optional()
        .describe('Metadata of the pods.'),
      spec: kubernetes().optional().describe('A PodSpec; containers, volumes and other named lists merge by name.'),
    })
    .optional()
    .describe(
      'Laid over the pod template: node selection, tolerations, sidecars, volumes and all else that a PodSpec has.',
    ),
  paused: z
    .boolean()
    .optional()
    .describe('While true, nothing is rolled out or repaired; the status is still reported. Default: false.'),
};

/** Reference to a condition-bearing object's metadata, as read from the API. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}
