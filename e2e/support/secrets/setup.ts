/** Before each file of tests: whatever they make programs say is searched for secrets. */
import { relative } from 'node:path';
import { expect } from 'vitest';
import { searchAnswers } from './answers.ts';
import { setPlace } from './search.ts';

setPlace(relative(process.cwd(), expect.getState().testPath ?? ''));
searchAnswers();
