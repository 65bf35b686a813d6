/** Annotations of pods and of their templates. */

/** Hash of the configuration that a pod was made with. */
export const CONFIG_HASH = 'mcpadapter.io/config-hash';
/** Number that is raised when pods must restart because an object that they refer to has changed. */
export const REFERENCES_REVISION = 'mcpadapter.io/references-revision';
/** On a resource, and from there on its pods: a new value restarts them. */
export const RESTARTED_AT = 'mcpadapter.io/restartedAt';

/**
 * Start of the digest of the tool lock that pods are to have. On its ConfigMap, as a label; on pods themselves, not on
 * their template, so that a new one makes the kubelet look at the volume at once and replaces no pod.
 */
export const TOOL_LOCK = 'mcpadapter.io/tool-lock';
