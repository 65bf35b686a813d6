import { z } from 'zod';

/** One request that changed something, from the audit log of the API server. */
export interface AuditedWrite {
  readonly time: Date;
  readonly verb: string;
  readonly user: string;
  readonly resource: string;
  /** `''` for none. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

const AuditEvent = z.looseObject({
  verb: z.string(),
  stage: z.string(),
  requestReceivedTimestamp: z.string(),
  // Who was refused as unknown has no name.
  user: z.looseObject({ username: z.string().default('') }),
  objectRef: z
    .looseObject({
      resource: z.string().default(''),
      subresource: z.string().default(''),
      namespace: z.string().default(''),
      name: z.string().default(''),
    })
    .optional(),
  requestURI: z.string(),
  responseStatus: z.looseObject({ code: z.int().optional() }).optional(),
});

/** Questions that are asked with POST. */
const QUESTIONS = new Set([
  'selfsubjectaccessreviews',
  'subjectaccessreviews',
  'tokenreviews',
  'localsubjectaccessreviews',
]);

/** Successful requests that may have changed something: no dry runs, no questions. Source: audit.k8s.io/v1. */
export function auditedWrites(log: string): AuditedWrite[] {
  const writes: AuditedWrite[] = [];
  for (const line of log.split('\n')) {
    // The last line may still be in the making.
    if (!line.endsWith('}')) continue;
    const event = AuditEvent.parse(JSON.parse(line));
    const { objectRef } = event;
    const succeeded = (event.responseStatus?.code ?? 0) < 300;
    if (event.stage !== 'ResponseComplete' || objectRef === undefined || !succeeded) continue;
    if (event.requestURI.includes('dryRun=') || QUESTIONS.has(objectRef.resource)) continue;
    writes.push({
      time: new Date(event.requestReceivedTimestamp),
      verb: event.verb,
      user: event.user.username,
      resource: objectRef.resource,
      subresource: objectRef.subresource,
      namespace: objectRef.namespace,
      name: objectRef.name,
    });
  }
  return writes;
}
