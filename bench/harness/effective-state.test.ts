import { describe, expect, test } from 'vitest';
import { stateMismatch } from './effective-state.ts';

describe('an adapter under measurement', () => {
  test('is accepted when its state is where it was configured to be', () => {
    expect(stateMismatch({ status: 'ok', persistence: { effective_type: 'redis' } }, 'redis')).toBeUndefined();
  });

  test('is refused when it fell back to another state type', () => {
    expect(stateMismatch({ persistence: { effective_type: 'memory' } }, 'redis')).toContain('kept in memory');
  });

  test('is refused when it does not tell', () => {
    expect(stateMismatch({ status: 'ok' }, 'disk')).toContain('effective_type');
    expect(stateMismatch('ok', 'disk')).toContain('effective_type');
  });
});
