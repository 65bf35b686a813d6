import { z } from 'zod';

/** metav1.Condition. Source: Kubernetes API conventions, "Typical status properties". */
export const Condition = z.strictObject({
  type: z.string().max(316).describe('What the condition is about.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
  observedGeneration: z.int().min(0).optional().describe('Generation of the spec that was looked at.'),
  lastTransitionTime: z.iso.datetime().describe('When the status last changed.'),
  reason: z
    .string()
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('One word for programs.'),
  message: z.string().max(32_768).describe('A sentence for people.'),
});
export type Condition = z.output<typeof Condition>;
