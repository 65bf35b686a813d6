import { expect, test } from 'vitest';

import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { load } from '../../crds/config/testing/adapter-config.ts';
import { spillSettings } from './spill-settings.ts';

function settingsOf(core: object, own: object) {
  const upstream = { url: 'http://upstream:1/mcp' };
  const config = load({ core: { results: core }, servers: [{ id: 's', mount_path: '/s', upstream, results: own }] });
  const [server] = config.servers;
  if (server === undefined) throw new Error('no server');
  return spillSettings(effectiveServer(config, server).results);
}

test('nothing has a limit by default', () => {
  expect(settingsOf({}, {})).toBeUndefined();
  expect(settingsOf({ spill_over_chars: 100 }, { spill_over_chars: 0 })).toBeUndefined();
});

test('a tool has the settings of its name, of the first pattern, of the server, of all servers', () => {
  const of = settingsOf(
    { spill_over_chars: 5000, structured: 'drop' },
    {
      preview_chars: 1000,
      tools: {
        'a_*': { spill_over_chars: 0 },
        '*_b': { spill_over_chars: 200 },
        a_b: { structured: 'keep' },
      },
    },
  );
  expect(of?.('other')).toEqual({ overChars: 5000, previewChars: 1000, dropsStructured: true });
  expect(of?.('a_c')).toBeUndefined();
  // No preview is longer than what it stands for.
  expect(of?.('c_b')).toEqual({ overChars: 200, previewChars: 200, dropsStructured: true });
  expect(of?.('a_b')).toEqual({ overChars: 5000, previewChars: 1000, dropsStructured: false });
});

test('one tool alone may have a limit', () => {
  const of = settingsOf({}, { tools: { long: { spill_over_chars: 300 } } });
  expect([of?.('long')?.overChars, of?.('other')]).toEqual([300, undefined]);
});
