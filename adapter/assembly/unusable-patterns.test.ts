import { describe, expect, test } from 'vitest';

import { load } from '../../crds/config/testing/adapter-config.ts';
import { toleratedPatterns, unusablePatterns } from './unusable-patterns.ts';

const config = (invalid_patterns?: string) =>
  load({
    core: invalid_patterns === undefined ? {} : { invalid_patterns },
    servers: [
      { id: 'a', mount_path: '/a', upstream: { url: 'http://a/' }, disabled_tools: ['ok', 'ok_.*'] },
      {
        id: 'b',
        mount_path: '/b',
        upstream: { url: 'http://b/' },
        disabled_tools: ['ok', '(?!safe_).*', '('],
        adapters: [
          {
            type: 'artifact_producer',
            tools: ['t'],
            output_locator: { mode: 'regex', output_path_regexes: ['/x', '(?<=a)/x'] },
          },
        ],
      },
    ],
  });

describe('T11: patterns that cannot be compiled', () => {
  test('are named by their paths, with what follows', () => {
    expect(unusablePatterns(config())).toEqual([
      {
        path: 'servers[1].disabled_tools[1]',
        pattern: '(?!safe_).*',
        message: expect.stringMatching(
          /^is no valid .* RE2 has neither look-ahead .* only a tool of exactly this name$/,
        ),
      },
      { path: 'servers[1].disabled_tools[2]', pattern: '(', message: expect.stringContaining('missing') },
      {
        path: 'servers[1].adapters[0].output_locator.output_path_regexes[1]',
        pattern: '(?<=a)/x',
        message: expect.stringMatching(/look-behind.*; it is skipped$/),
      },
    ]);
    expect(unusablePatterns(config('hide_all'))[0]?.message).toMatch(/; all tools of this server are hidden$/);
  });

  test('are tolerated unless the start is to fail', () => {
    expect(config().core.invalid_patterns).toBe('warn');
    for (const how of ['warn', 'hide_all']) expect(toleratedPatterns(config(how))).toHaveLength(3);
    expect(() => toleratedPatterns(config('fail'))).toThrow(/servers\[1\]\.disabled_tools\[1\] \("\(\?!safe_\)\.\*"\)/);
    expect(toleratedPatterns({ ...config('fail'), servers: [] })).toEqual([]);
  });
});
