/** A line of Prometheus' text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What a Prometheus endpoint says, as Prometheus would read it. Rejects when it is no such answer. */
export async function scrape(url: string): Promise<{ readonly text: string; readonly samples: readonly Sample[] }> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  const text = await response.text();
  const type = response.headers.get('content-type');
  if (response.status !== 200 || type?.startsWith('text/plain') !== true) {
    throw new Error(`${response.status} ${type}: ${text.slice(0, 500)}`);
  }
  return { text, samples: parse(text) };
}

function parse(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    if (line === '' || line.startsWith('#')) return [];
    const [, name, labels = '', value] = /^([\w:]+)(?:\{(.*)\})? (\S+)(?: \d+)?$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`no sample: ${line}`);
    return [{ name, labels: labelsOf(labels), value: Number(value.replace('Inf', 'Infinity')) }];
  });
}

const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_, character) => (character === 'n' ? '\n' : String(character))),
    ]),
  );

/** The sum of the samples that have this name and these labels. */
export const total = (samples: readonly Sample[], name: string, labels: Sample['labels'] = {}): number =>
  samples
    .filter(
      (sample) => sample.name === name && Object.entries(labels).every(([key, one]) => sample.labels[key] === one),
    )
    .reduce((sum, { value }) => sum + value, 0);
