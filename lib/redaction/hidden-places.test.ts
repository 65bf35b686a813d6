import { describe, expect, test } from 'vitest';
import { hiddenPlaces, withPlaceholders } from './hidden-places.ts';
import { interpolateAll } from '../references/reference.ts';

const ENV = {
  S: 'Salary-abc123',
  IP: '10.1.2.3',
  V6: 'fd00::7',
  HOST: 'redis',
  URL: 'https://u:p@full.example.com:8443/x',
};
const told = (document: object, text: string): string =>
  withPlaceholders(hiddenPlaces(interpolateAll(document, ENV).found, ENV))(text);
const upstream = (url: string): object => ({ servers: [{ upstream: { url } }] });

describe('O23 T9: the value of a variable in the name of a host', () => {
  test.each([
    [
      'http://${S}.example.com/mcp',
      'getaddrinfo EAI_AGAIN salary-abc123.example.com',
      'getaddrinfo EAI_AGAIN ${S}.example.com',
    ],
    ['http://${S}.example.com/mcp', 'at http://Salary-abc123.example.com/mcp.', 'at http://${S}.example.com/mcp.'],
    ['http://${S}.example.com', 'Host: salary-abc123.example.com. is not in', 'Host: ${S}.example.com. is not in'],
    ['http://${IP}:${PORT:-80}/', 'connect ECONNREFUSED 10.1.2.3:80', 'connect ECONNREFUSED ${IP}:80'],
    ['http://[${V6}]/', 'connect ECONNREFUSED fd00::7:80', 'connect ECONNREFUSED ${V6}:80'],
    ['${URL}', 'getaddrinfo ENOTFOUND full.example.com', 'getaddrinfo ENOTFOUND ${URL}'],
    ['http://x:${S}@${HOST}', 'refused: redis resolves to 169.254.1.1,', 'refused: ${HOST} resolves to 169.254.1.1,'],
  ])('%s is told as it is written', (url, text, expected) => {
    expect(told(upstream(url), text)).toBe(expected);
  });

  test('also of a store and of a collector', () => {
    const document = {
      state_persistence: { redis: { host: '${IP}' } },
      telemetry: { logs_endpoint: 'https://${S}.example.com' },
    };
    expect(told(document, '10.1.2.3 salary-abc123.example.com')).toBe('${IP} ${S}.example.com');
  });

  test.each([
    ['a word that is also a host', 'http://${HOST}', 'waiting for redis; type redis'],
    [
      'a longer name',
      'http://${S}.example.com',
      'not-salary-abc123.example.com and salary-abc123.example.com.evil.com',
    ],
    ['an address that only begins like it', 'http://${IP}', '10.1.2.30 and 110.1.2.3'],
    ['a host that is written out', 'http://a.example.com/${S}', 'ENOTFOUND a.example.com'],
    ['a default', 'http://${NONE:-b.example.com}', 'ENOTFOUND b.example.com'],
  ])('%s stays', (_, url, text) => {
    expect(told(upstream(url), text)).toBe(text);
  });

  test('where a program listens stays', () => {
    expect(told({ core: { host: '${IP}' } }, '10.1.2.3')).toBe('10.1.2.3');
  });
});
