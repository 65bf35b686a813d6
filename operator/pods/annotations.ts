/** Annotations of the templates of pods. */

/** Hash of the configuration that a pod was made with. */
export const CONFIG_HASH = 'mcpadapter.io/config-hash';
/** Number that is raised when pods must restart because an object that they refer to has changed. */
export const REFERENCES_REVISION = 'mcpadapter.io/references-revision';
/** On a resource, and from there on its pods: a new value restarts them. */
export const RESTARTED_AT = 'mcpadapter.io/restartedAt';
