/** The answers of the measured API. */

const KINDS = ['created', 'changed', 'shipped', 'closed'];
const SITES = ['helsinki', 'lagos', 'lima', 'osaka', 'perth'];

/** One record of about 300 bytes. Their attributes make 80 series: the periods have no common factor. */
function record(number: number): object {
  return {
    id: number,
    kind: KINDS[number % KINDS.length],
    site: SITES[number % SITES.length],
    outcome: number % 17 === 0 ? 'failed' : 'done',
    account: { id: `account-${number % 991}`, plan: number % 3 === 0 ? 'team' : 'single' },
    timing: { queuedMs: (number * 31) % 400, totalMs: (number * 7907) % 2000 },
    usage: { percent: (number % 1000) / 10, bytes: 700 + ((number * 104_711) % 50_000) },
    at: new Date(1_770_000_000_000 + number * 1000).toISOString(),
    note: `number ${number} went through the desk ${number % 29} like most others do`,
  };
}

const pages = new Map<number, Buffer>();

/** An answer with that many records, made once. */
export function page(count: number): Buffer {
  let made = pages.get(count);
  if (made === undefined) {
    const items = Array.from({ length: count }, (_, number) => record(number));
    made = Buffer.from(JSON.stringify({ meta: { count, site: 'all' }, items }));
    pages.set(count, made);
  }
  return made;
}
