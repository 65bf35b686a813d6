import { describe, expect, it } from 'vitest';
import { quantityProblems } from './check-resources.ts';

const problems = (spec: object): string[] =>
  quantityProblems({ spec }).map(({ path, message }) => `${path} ${message}`);
const memory = (quantity: unknown): string[] => problems({ resources: { limits: { memory: quantity } } });

describe('O8: requests and limits', () => {
  it.each(['128Mi', '1Gi', '500m', '2', '1.5', '1e3', '1E', '100k', 2, 0.5, '.5', null])('may be %j', (quantity) => {
    expect(memory(quantity)).toEqual([]);
  });

  it.each(['128MB', 'lots', '', '1 Gi', '12KB', '128mi', true, {}])('may not be %j', (quantity) => {
    expect(memory(quantity)).toEqual([
      `spec.resources.limits.memory is ${JSON.stringify(quantity)}, which is no quantity; write such as 500m, 2, 128Mi or 1Gi`,
    ]);
  });

  it('are looked at in each container of the overlay', () => {
    const container = { name: 'a', resources: { requests: { cpu: '1 core' } } };
    const podOverlay = { spec: { containers: [{ name: 'b' }, container], initContainers: [container] } };
    expect(problems({ podOverlay }).map((one) => one.split(' ')[0])).toEqual([
      'spec.podOverlay.spec.containers[1].resources.requests.cpu',
      'spec.podOverlay.spec.initContainers[0].resources.requests.cpu',
    ]);
  });

  it('may be anything but an object, which others refuse', () => {
    expect(problems({ resources: 'x', podOverlay: { spec: { containers: 'x' } } })).toEqual([]);
  });
});
