import { describe, expect, it } from 'vitest';
import { valueAt } from '../../lib/json/tree.ts';
import { isSoleOwner, objectWith } from './field-ownership.ts';
import type { ManagedFieldsEntry } from '../kubernetes/kubernetes.ts';

const REPLICAS = ['spec', 'replicas'];
const fieldsV1 = { 'f:spec': { 'f:replicas': {}, 'f:selector': {} } };
const ours: ManagedFieldsEntry = { manager: 'mcp-operator', operation: 'Apply', fieldsV1 };

describe('isSoleOwner', () => {
  it('holds when only our apply set the field', () => {
    const status: ManagedFieldsEntry = { manager: 'controller', operation: 'Update', fieldsV1: { 'f:status': {} } };
    expect(isSoleOwner([ours, status], 'mcp-operator', REPLICAS)).toBe(true);
    expect(isSoleOwner([ours], 'mcp-operator', ['spec', 'paused'])).toBe(false);
  });

  it('does not hold when someone else set it too, so that it would stay', () => {
    const scale: ManagedFieldsEntry = { manager: 'hpa', operation: 'Update', subresource: 'scale', fieldsV1 };
    expect(isSoleOwner([ours, scale], 'mcp-operator', REPLICAS)).toBe(false);
    expect(isSoleOwner([scale], 'mcp-operator', REPLICAS)).toBe(false);
    expect(isSoleOwner([{ ...ours, operation: 'Update' }], 'mcp-operator', REPLICAS)).toBe(false);
    expect(isSoleOwner(undefined, 'mcp-operator', REPLICAS)).toBe(false);
  });
});

it('reads and makes single fields', () => {
  expect(valueAt({ spec: { replicas: 0 } }, REPLICAS)).toBe(0);
  expect(valueAt({ spec: 'text' }, REPLICAS)).toBeUndefined();
  expect(valueAt({ spec: null }, REPLICAS)).toBeUndefined();
  expect(objectWith(REPLICAS, 3)).toEqual({ spec: { replicas: 3 } });
});
