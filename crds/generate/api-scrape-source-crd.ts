import { ScraperSettings, Source } from '../config/scraper-file/scraper.ts';
import { ApiScrapeSourceSpec, ApiScrapeSourceStatus } from '../v1alpha1/api-scrape-source.ts';
import { SOURCE_LIMITS } from '../v1alpha1/limits.ts';
import { amend } from './amend.ts';
import { type CelRule, customResourceDefinition, type PrinterColumn } from './custom-resource-definition.ts';
import { inputSchema } from './json-schema.ts';
import { CLAIM_AMENDMENTS, CONDITION_LIST, POD_FIELD_AMENDMENTS } from './pod-fields.ts';
import { withLimits } from './limit-amendments.ts';
import { structuralSchema } from './structural-schema.ts';

/** The CustomResourceDefinition of ApiScrapeSource. */

const READY = '.status.conditions[?(@.type=="Ready")]';

const COLUMNS: readonly PrinterColumn[] = [
  { name: 'Group', type: 'string', jsonPath: '.status.group', description: 'The group that runs it.' },
  { name: 'Ready', type: 'string', jsonPath: `${READY}.status`, description: 'Whether it is scraped.' },
  {
    name: 'Since',
    type: 'date',
    jsonPath: '.status.lastScrapeTime',
    description: 'For how long scrapes have gone so.',
  },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Time since it was created.' },
  { name: 'Reason', type: 'string', jsonPath: `${READY}.reason`, description: 'Why, in one word.', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: `${READY}.message`, description: 'Why.', priority: 1 },
];

/** Names become prefixes of environment variables, where only one character stands for what is no letter or digit. */
const NAME: CelRule = {
  rule: "oldSelf.hasValue() || (self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",
  message: 'metadata.name must be a DNS label of at most 63 characters that starts with a letter',
  optionalOldSelf: true,
};

const FILE = { references: true };
const OWN = { references: false };

export function apiScrapeSourceCrd(): object {
  const source = withLimits(structuralSchema(inputSchema(Source), FILE, 'spec.source'), SOURCE_LIMITS);
  const scraper = structuralSchema(inputSchema(ScraperSettings.partial()), FILE, 'spec.scraper');
  const fields = ApiScrapeSourceSpec.omit({ source: true, scraper: true });
  const spec = amend(structuralSchema(inputSchema(fields), OWN, 'spec'), {
    ...POD_FIELD_AMENDMENTS,
    ...CLAIM_AMENDMENTS,
  });
  return customResourceDefinition({
    kind: 'ApiScrapeSource',
    shortName: 'apiss',
    description: 'A JSON API that is scraped: its records become metrics and log records of OpenTelemetry.',
    name: 'a DNS label of at most 63 characters that starts with a letter. It stands before the names of its variables in the pods',
    columns: COLUMNS,
    spec: {
      ...spec,
      properties: {
        source: {
          ...source,
          description:
            'The source, exactly as it would stand in `sources` of the scraper’s file. Any text may hold `${VAR}` or ' +
            '`${VAR:-default}`, with variables of `spec.env` and `spec.envFrom`; numbers and booleans may stand as text. ' +
            'Where null means something, use `kubectl apply --server-side`: a client-side apply leaves null out.',
        },
        scraper: { ...scraper, description: ApiScrapeSourceSpec.shape.scraper.description },
        ...spec.properties,
      },
      required: ['source'],
    },
    status: amend(structuralSchema(inputSchema(ApiScrapeSourceStatus), OWN, 'status'), CONDITION_LIST),
    scales: false,
    rules: [NAME],
  });
}
