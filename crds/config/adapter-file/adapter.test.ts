import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  AdapterConfig,
  type AdapterConfigInput,
  type AdapterEntry,
  type ArtifactProducer,
  type FileTools,
  type ServerConfig,
  type UploadConsumer,
} from './adapter.ts';

describe('the types of the configuration', () => {
  it('let a user leave out whatever has a default, and write numbers and booleans as text', () => {
    const input: AdapterConfigInput = {
      core: { port: '8080', cleanup_interval_seconds: null, auth: { enabled: 'no' }, max_request_body_bytes: '1Mi' },
      telemetry: null,
      servers: [
        {
          id: 'a',
          mount_path: '/a',
          upstream: { url: 'http://a/mcp' },
          tool_definition_pinning: { mode: false },
          adapters: [{ type: 'upload_consumer', tools: ['t'], file_path_argument: 'p' }],
        },
      ],
    };
    expect(AdapterConfig.parse(input)).toMatchObject({
      core: { port: 8080, cleanup_interval_seconds: null, auth: { enabled: false }, max_request_body_bytes: 1_048_576 },
      servers: [{ tool_definition_pinning: { mode: 'off' }, adapters: [{ uri_scheme: 'upload://' }] }],
    });
  });

  it('say exactly what a program gets', () => {
    expectTypeOf<AdapterConfig['core']['port']>().toEqualTypeOf<number>();
    expectTypeOf<AdapterConfig['core']['cleanup_interval_seconds']>().toEqualTypeOf<number | null>();
    expectTypeOf<AdapterConfig['core']['log_level']>().toEqualTypeOf<
      'debug' | 'info' | 'warning' | 'error' | 'critical'
    >();
    expectTypeOf<AdapterConfig['storage']['max_size']>().toEqualTypeOf<number | null>();
    expectTypeOf<AdapterConfig['servers']>().toEqualTypeOf<ServerConfig[]>();
    expectTypeOf<ServerConfig['upstream_ping']['interval_seconds']>().toEqualTypeOf<number | null>();
    expectTypeOf<ServerConfig['tool_definition_pinning']['mode']>().toEqualTypeOf<'off' | 'warn' | 'block' | null>();
    expectTypeOf<ServerConfig['adapters']>().toEqualTypeOf<AdapterEntry[]>();
    expectTypeOf<AdapterEntry>().toEqualTypeOf<UploadConsumer | ArtifactProducer | FileTools>();
    expectTypeOf<UploadConsumer['type']>().toEqualTypeOf<'upload_consumer'>();
    expectTypeOf<ArtifactProducer['allow_raw_output']>().toEqualTypeOf<boolean | null>();
    expectTypeOf<ArtifactProducer>().not.toHaveProperty('include_raw_output');
  });
});
