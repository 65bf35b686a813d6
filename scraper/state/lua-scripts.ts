import { ScriptFolder } from '../../lib/redis/script-folder.ts';
import { MOMENT, SOURCE_KEPT_MS, WINDOWS_KEPT } from './ledger.ts';

/** What the scraper does in Redis in one atomic step each. See redis-keys.ts for what keys hold. */
export const LUA = new ScriptFolder(new URL('lua/', import.meta.url), { MOMENT, SOURCE_KEPT_MS, WINDOWS_KEPT });
