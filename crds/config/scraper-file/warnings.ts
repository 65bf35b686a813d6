import { mayDiffer, readDifferently } from '../load/old-yaml.ts';
import { type Problem, dottedPath } from '../load/problem.ts';
import type { Environment } from '../../../lib/references/reference.ts';
import type { ScraperConfig, Source } from './scraper.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';
import { type YamlSource, readYaml } from '../load/yaml-source.ts';

interface Warning {
  at: Path;
  message: string;
}

/**
 * What is probably not meant as it is written in a valid file of the scraper: what can have no effect, what is turned
 * off at one's own risk, and shapes that are accepted for old examples only. In the order of the file. `env` is what the
 * references of the file are resolved from.
 */
export function scraperWarnings(config: ScraperConfig, text: string, env: Environment = {}): Problem[] {
  const source = readYaml(text);
  const found = [
    ...oldShapes(source.value),
    ...namesOfVariables(source.value, env),
    ...(mayDiffer(text) ? otherValues(source, config.sources.length) : []),
    ...tls(config.scraper.otelTls.verify, ['scraper', 'otelTls', 'verify']),
    ...config.sources.flatMap((source, index) => sourceWarnings(source, config, ['sources', index])),
  ];
  return found
    .map(({ at, message }) => ({ path: dottedPath(at), message, ...source.locate(at) }))
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

const OLD_KEYS: Readonly<Record<string, string>> = {
  valueKey: 'dataKey',
  redis: 'valkey',
};
const MOVED_KEYS: Readonly<Record<string, string>> = {
  runFirstScrape: 'in the source itself',
  frequency: 'in the source itself',
  dateFormat: 'in scrape.rangeKeys',
};

function oldShapes(node: unknown, at: Path = []): Warning[] {
  if (typeof node !== 'object' || node === null) return [];
  const [first, , third, ...deeper] = at;
  const inScrape = first === 'sources' && third === 'scrape' && deeper.length === 0;
  const inReading = first === 'sources' && /^\w+Readings$/.test(String(third)) && deeper.length === 1;
  const inStore = first === 'scraper' && at.at(-1) === 'fingerprintStore';
  const own = Array.isArray(node) ? [] : Object.keys(node);
  const warnings = own.flatMap((key): Warning[] => {
    if (inScrape && MOVED_KEYS[key] !== undefined) return [{ at: [...at, key], message: `belongs ${MOVED_KEYS[key]}` }];
    const isOld = (inReading && key === 'valueKey') || (inStore && key === 'redis');
    return isOld ? [{ at: [...at, key], message: `is another name of ${OLD_KEYS[key]}; use that` }] : [];
  });
  const children = Array.isArray(node) ? [...node.entries()] : Object.entries(node);
  return [...warnings, ...children.flatMap(([key, child]) => oldShapes(child, [...at, key]))];
}

/** The original takes a text that is the name of a variable for its value, and its examples have all secrets like that. */
function namesOfVariables(node: unknown, env: Environment, at: Path = []): Warning[] {
  if (typeof node === 'string') {
    const isSecret = at.includes('auth') || (at.includes('fingerprintStore') && at.at(-1) === 'password');
    return isSecret && Object.hasOwn(env, node) && Boolean(env[node])
      ? [{ at, message: 'is the name of an environment variable, but is taken as it is; write ${NAME} for its value' }]
      : [];
  }
  if (typeof node !== 'object' || node === null) return [];
  const children = Array.isArray(node) ? [...node.entries()] : Object.entries(node);
  return children.flatMap(([key, child]) => namesOfVariables(child, env, [...at, key]));
}

/** Where a value of any kind may stand, so that no rule tells a text from what YAML 1.1 would have made of it. */
const ANY_KIND: readonly Path[] = [['filters'], ['scrape', 'extraArgs'], ['auth', 'bodyData', 'data']];

function otherValues(source: YamlSource, count: number): Warning[] {
  const places = Array.from({ length: count }, (_, index) =>
    ANY_KIND.map((path) => ['sources', index, ...path]),
  ).flat();
  return places
    .flatMap((at) => readDifferently(valueAt(source.value, at), at, source))
    .map((at) => ({
      at,
      message:
        'is something else in YAML 1.1, as the original reads it; put a text in quotes, and write true, false or a plain number',
    }));
}

function sourceWarnings(source: Source, { scraper }: ScraperConfig, at: Path): Warning[] {
  return [
    scraper.enforceTls &&
      /^http:/i.test(source.baseUrl) && {
        at: [...at, 'baseUrl'],
        message: 'starts with http://, which is refused while scraper.enforceTls is true',
      },
    ...times(source, at),
    ...withoutEffect(source, at),
    ...readings(source.gaugeReadings, [...at, 'gaugeReadings']),
    ...readings(source.histogramReadings, [...at, 'histogramReadings']),
    ...tls(source.tls.verify, [...at, 'tls', 'verify']),
  ].filter((warning) => warning !== false);
}

function times({ scrape, runFirstScrape }: Source, at: Path): (Warning | false)[] {
  const { type, rangeKeys, lag, overlap } = scrape;
  const oneKey = rangeKeys !== null && Boolean(rangeKeys.startKey) !== Boolean(rangeKeys.endKey);
  const noTime = type === 'range' && !rangeKeys?.startKey && !rangeKeys?.endKey && !rangeKeys?.unit;
  const ofRange = { lag, overlap };
  return [
    oneKey && {
      at: [...at, 'scrape', 'rangeKeys'],
      message: 'has only one of startKey and endKey, so that no times are sent',
    },
    noTime && {
      at: [...at, 'scrape', 'rangeKeys'],
      message: 'has neither startKey and endKey nor unit, so that no times are sent',
    },
    Boolean(rangeKeys?.firstScrapeStart) &&
      !runFirstScrape && {
        at: [...at, 'scrape', 'rangeKeys', 'firstScrapeStart'],
        message: 'has no effect without runFirstScrape: true, because the first scrape is left out',
      },
    ...(type === 'range' ? [] : Object.entries(ofRange)).map(
      ([name, value]) =>
        value > 0 && { at: [...at, 'scrape', name], message: 'has no effect unless scrape.type is range' },
    ),
  ];
}

function withoutEffect({ dataKey, deltaDetection, scrape: { pagination } }: Source, at: Path): (Warning | false)[] {
  const { enabled, fingerprintMode, fingerprintKeys } = deltaDetection;
  const isSized = pagination?.type === 'page' || pagination?.type === 'offset';
  return [
    dataKey?.startsWith('$root.') === true && {
      at: [...at, 'dataKey'],
      message:
        'finds nothing, because $root. is for readings and attributes; leave it out, the path starts there anyway',
    },
    dataKey?.startsWith('[') === true && {
      at: [...at, 'dataKey'],
      message: 'finds nothing, because a name must come first; without dataKey the answer itself is the list',
    },
    enabled &&
      fingerprintMode === 'keys' &&
      fingerprintKeys.length === 0 && {
        at: [...at, 'deltaDetection', 'fingerprintKeys'],
        message: 'is empty, so that the whole record is compared',
      },
    enabled &&
      fingerprintMode === 'full_record' &&
      fingerprintKeys.length > 0 && {
        at: [...at, 'deltaDetection', 'fingerprintKeys'],
        message: 'has no effect unless fingerprintMode is keys',
      },
    isSized &&
      pagination.sizeParam !== null &&
      pagination.pageSize === null && {
        at: [...at, 'scrape', 'pagination', 'sizeParam'],
        message: 'has no effect without pageSize',
      },
  ];
}

function readings(list: Source['gaugeReadings'], at: Path): Warning[] {
  return list.flatMap(({ dataKey, fixedValue }, index) =>
    dataKey === null && fixedValue === null
      ? [{ at: [...at, index], message: 'has neither dataKey nor fixedValue, so that nothing is emitted' }]
      : [],
  );
}

const tls = (verify: boolean, at: Path): Warning[] =>
  verify ? [] : [{ at, message: 'is false: certificates are not verified' }];
