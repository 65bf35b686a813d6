import { checkRules } from '../load/rules.ts';
import { ACCESS_RULES } from './rules/access-rules.ts';
import { FILE_RULES } from './rules/file-rules.ts';
import { PART_RULES } from './rules/part-rules.ts';

/**
 * Rules of the adapter's file that concern more than one field (adapter specification, sections 2 and 7); every violation
 * is an issue. They run also when other fields are invalid, and say nothing about what they cannot judge.
 */
export const adapterRules = checkRules([...ACCESS_RULES, ...PART_RULES, ...FILE_RULES]);
