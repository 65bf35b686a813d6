/** What the pods of an adapter are like where the resource says nothing; in one place because several builders agree on it. */

/** Name of the container that runs the adapter. */
export const CONTAINER = 'adapter';
/** Name of the port that the adapter listens on, in pods and in Services. */
export const PORT_NAME = 'http';
/** Name of the port that Prometheus reads metrics from. */
export const METRICS_PORT_NAME = 'metrics';

export const CONFIG_FOLDER = '/etc/mcp-adapter';
export const CONFIG_FILE = 'config.yaml';
/** A folder of its own, so that the kubelet changes the file in pods that run. */
export const LOCK_FOLDER = '/etc/mcp-adapter-lock';
export const LOCK_FILE = 'tool-lock.json';
export const LOCK_VOLUME = 'mcp-tool-lock';
/** Volume of the folder `config.storage.root`. Sidecars mount it under this name. */
export const STORAGE_VOLUME = 'storage';

/** Folder of the storage that holds the state, which only the adapter sees. */
export const STATE_SUBPATH = 'state';

/** Name of the container that the folders of files are made for; it ends at once. */
export const FOLDERS_CONTAINER = 'storage-folders';

/** Variable that tells the adapter how long running calls may go on after SIGTERM. */
export const SHUTDOWN_VARIABLE = 'MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS';
/** Variable by which the replicas of one adapter know each other, and others, in Redis. */
export const NAME_VARIABLE = 'MCP_ADAPTER_NAME';
/** Variables by which the adapter answers who operates it; the plugin for kubectl reads them from the pod. */
export const ADMIN_PORT_VARIABLE = 'MCP_ADAPTER_ADMIN_PORT';
export const ADMIN_KEY_VARIABLE = 'MCP_ADAPTER_ADMIN_KEY';
/** Seconds between the decision to stop a pod and SIGTERM, in which Services learn to leave it out. */
export const PRE_STOP_SECONDS = 5;
/** Seconds that the program has for its last work after running calls have ended. */
export const LAST_WORK_SECONDS = 10;

export const TARGET_CPU_PERCENT = 80;
