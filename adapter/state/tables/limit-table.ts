/** Where the limits of a store that lives in this process are kept. */
export interface LimitTable {
  /** When a bucket is as good as new, in microseconds; 0 where it is not there. */
  freeAt(key: string): number;
  /** It may go from then on. */
  setFreeAt(key: string, us: number, now: number): void;
  /** Semaphore that are held after `now`. */
  placesTaken(key: string, now: number): number;
  holdsPlace(key: string, id: string): boolean;
  setPlace(key: string, id: string, until: number): void;
  dropPlace(key: string, id: string): void;
}
