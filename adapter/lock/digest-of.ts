import { hash } from 'node:crypto';

/** `sha256:<hex>` of a canonical text, as a lock has it. */
export const digestOf = (text: string): string => `sha256:${hash('sha256', text, 'hex')}`;
