import { randomBytes } from 'node:crypto';

/** 256 random bits in base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url');
