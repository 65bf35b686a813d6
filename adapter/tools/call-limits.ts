import { isIP, isIPv4 } from 'node:net';

import type { CallLimit } from '../../crds/config/adapter-file/limits.ts';
import { parseRate } from '../../crds/config/values/rate.ts';
import { AdapterError } from '../errors.ts';
import type { Caller } from '../path/caller.ts';
import type { PlaceTaking, RateTaking, Shared, Taking } from '../state/call-limits.ts';
import { BucketNames } from './bucket-names.ts';

interface RateLimit {
  readonly per: Shared;
  /** What the keys of its buckets begin with. A limit of another rate has other buckets. */
  readonly prefix: string;
  readonly intervalUs: number;
  readonly burst: number;
}

interface PlaceLimit {
  readonly per: Shared;
  readonly prefix: string;
  readonly most: number;
}

/** The limits of one server: what its calls count against. */
export class CallLimits {
  readonly #rates: readonly RateLimit[];
  readonly #places: readonly PlaceLimit[];
  readonly #names = new BucketNames();

  constructor(serverId: string, limits: readonly CallLimit[]) {
    const server = encodeURIComponent(serverId);
    // The same limit twice is one, and of two that count the same running calls the smaller one.
    const rates = new Map<string, RateLimit>();
    const places = new Map<Shared, PlaceLimit>();
    for (const { per, rate: text, burst: atOnce, concurrent } of limits) {
      const rate = text === null ? undefined : parseRate(text);
      if (rate !== undefined) {
        const burst = atOnce ?? rate.count;
        // Rounded to the careful side, which beyond some thousands a second is a little less than the rate.
        const intervalUs = Math.ceil((rate.periodMs * 1000) / rate.count);
        const prefix = `${server}:${per}:${intervalUs}:${burst}`;
        rates.set(prefix, { per, prefix, intervalUs, burst });
      }
      if (concurrent !== null) {
        const most = Math.min(concurrent, places.get(per)?.most ?? Infinity);
        places.set(per, { per, prefix: `${server}:${per}`, most });
      }
    }
    this.#rates = [...rates.values()];
    this.#places = [...places.values()];
  }

  /** Whether it needs to be told what tools there are. */
  get countsTools(): boolean {
    return [...this.#rates, ...this.#places].some(({ per }) => per === 'tool' || per === 'caller+tool');
  }

  /** The server has these tools. */
  listed(names: Iterable<string>): void {
    this.#names.listed(names);
  }

  /**
   * What calls of these tools take that come together. Throws `invalid_request` where they are more than there may ever be.
   * @param runs whether they run at the upstream; otherwise they take no places
   * @param allowed those that the caller may call: what others are refused takes nothing from what callers share
   */
  of(
    caller: Pick<Caller, 'principal' | 'request'>,
    tools: readonly string[],
    runs: boolean,
    allowed: readonly string[] = tools,
  ): Taking {
    const rates: RateTaking[] = [];
    const places: PlaceTaking[] = [];
    const who = caller.principal === '' ? networkOf(caller.request.ip) : caller.principal;
    for (const { per, prefix, intervalUs, burst } of this.#rates) {
      for (const [key, calls] of this.#counts(prefix, per, who, isShared(per) ? allowed : tools)) {
        requireRoom(calls, burst);
        rates.push({ per, key, intervalUs, burst, calls });
      }
    }
    for (const { per, prefix, most } of runs ? this.#places : []) {
      for (const [key, calls] of this.#counts(prefix, per, who, isShared(per) ? allowed : tools)) {
        requireRoom(calls, most);
        places.push({ per, key, most, calls });
      }
    }
    return { rates, places };
  }

  /** The keys under which a limit counts calls, each with their number. Who calls has no `|` in it, and a tool comes last. */
  #counts(prefix: string, per: Shared, who: string, tools: readonly string[]): Iterable<readonly [string, number]> {
    if (tools.length === 0) return [];
    const start = isShared(per) ? prefix : `${prefix}|${who}`;
    if (per === 'caller' || per === 'server') return [[start, tools.length]];
    const [only] = tools;
    if (only !== undefined && tools.length === 1) return [[`${start}|${this.#names.of(only)}`, 1]];
    const counts = new Map<string, number>();
    for (const tool of tools) {
      const key = `${start}|${this.#names.of(tool)}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  }
}

/** Whether several callers have it together. */
const isShared = (per: Shared): boolean => per === 'server' || per === 'tool';

function requireRoom(calls: number, most: number): void {
  if (calls <= most) return;
  const detail = `The batch has ${calls} calls where no more than ${most} may come at once; send fewer.`;
  throw new AdapterError('invalid_request', detail);
}

/** Whoever has an IPv6 address has 2^64 of them: they count as one. */
function networkOf(ip = ''): string {
  if (isIP(ip) !== 6) return isIPv4(ip) ? ip : '';
  const mapped = ip.slice(ip.lastIndexOf(':') + 1);
  if (/^::ffff:/i.test(ip) && isIPv4(mapped)) return mapped;
  const [head = '', tail] = ip.split('%', 1)[0]?.toLowerCase().split('::') ?? [];
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    while (groups.length + last.length < 8) groups.push('0');
    groups.push(...last);
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
