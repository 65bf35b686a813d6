/** metav1.MicroTime: six digits, which the parsers of Leases and Events insist on. */
export function microTime(time: Date): string {
  return `${time.toISOString().slice(0, -1)}000Z`;
}
