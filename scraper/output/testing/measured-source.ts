import { Source } from '../../../crds/config/scraper-file/source.ts';

/** A source with every default, and these fields. */
export function measuredSource(fields: Record<string, unknown>): Source {
  return Source.parse({
    name: 's',
    frequency: '1m',
    baseUrl: 'https://api.example.com',
    endpoint: '/x',
    scrape: { type: 'instant' },
    emitLogs: false,
    ...fields,
  });
}
