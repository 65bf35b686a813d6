/**
 * Of the container of a program where the resource says nothing. The limit keeps a program from taking its node along; the
 * heap is a part of it (`heap.ts`), and the limits of sessions and files are made for it (`completed-config.ts`).
 */
export const RESOURCES = { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } };
