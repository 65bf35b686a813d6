/** Names in the pods of a group that several parts agree on. */

/** Of the container that runs the scraper. */
export const CONTAINER = 'scraper';
/** Of the port that the scraper listens on, in pods and in Services. */
export const PORT_NAME = 'http';
export const CONFIG_FOLDER = '/etc/otel-api-scraper';
export const STATE_FOLDER = '/var/lib/otel-api-scraper';
/** Of the volume that holds the state. */
export const STATE = 'state';
/** Variables by which the scraper answers who operates it; the plugin for kubectl reads them from the pod. */
export const ADMIN_PORT_VARIABLE = 'SCRAPER_ADMIN_PORT';
export const ADMIN_KEY_VARIABLE = 'SCRAPER_ADMIN_KEY';
