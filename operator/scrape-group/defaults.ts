/** Names in the pods of a group that several parts agree on. */

/** Of the container that runs the scraper. */
export const CONTAINER = 'scraper';
/** Of the port that the scraper listens on, in pods and in Services. */
export const PORT_NAME = 'http';
