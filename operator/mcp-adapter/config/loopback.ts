import { isIPv4 } from 'node:net';

/** Whether an IP address is reached from its own machine only. */
export const isLoopback = (host: string): boolean =>
  (isIPv4(host) && host.startsWith('127.')) || /^(0*:)*:?0*1$|^::ffff:127\./i.test(host);
