import type { Problem } from '../../crds/config/problem.ts';
import { listAt, textAt } from '../runtime/raw.ts';

/**
 * Variables that are code for Node or the loader, or that decide whom the adapter trusts and by whom it goes. Only those
 * who may make pods may set them, by `podOverlay`.
 */
const REFUSED = /^(NODE_.*|LD_.*|GLIBC_TUNABLES|GCONV_PATH|PATH|SSL_.*|OPENSSL_.*|(HTTPS?|ALL|NO|FTP)_PROXY)$/i;

/** Of those, what `envFrom` could bring. Empty, each is as if it were not there, and `env` counts before `envFrom`. */
export const EMPTIED_VARIABLES = [
  'ALL_PROXY',
  'GCONV_PATH',
  'GLIBC_TUNABLES',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'LD_AUDIT',
  'LD_LIBRARY_PATH',
  'LD_PRELOAD',
  'NODE_COMPILE_CACHE',
  'NODE_EXTRA_CA_CERTS',
  'NODE_ICU_DATA',
  'NODE_PATH',
  'NODE_REDIRECT_WARNINGS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_USE_ENV_PROXY',
  'NODE_USE_SYSTEM_CA',
  'NODE_V8_COVERAGE',
  'NO_PROXY',
  'OPENSSL_CONF',
  'OPENSSL_ENGINES',
  'OPENSSL_MODULES',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
  'all_proxy',
  'http_proxy',
  'https_proxy',
  'no_proxy',
] as const;

export const isCodeVariable = (name: string): boolean => REFUSED.test(name);

/** Entries of `spec.env` that are more than values for `${NAME}`. */
export const codeVariables = (resource: unknown): Problem[] =>
  listAt(resource, 'spec', 'env').flatMap((variable, index) => {
    const name = textAt(variable, 'name') ?? '';
    if (!isCodeVariable(name)) return [];
    const message =
      `is ${name}, which changes what the adapter runs or whom it trusts; use another name for a value of the configuration, ` +
      'or set it with spec.podOverlay in the container adapter';
    return [{ path: `spec.env[${index}].name`, message }];
  });
