/**
 * Variables that are code for Node or the loader, or that decide whom a program trusts and by whom it goes. Only those
 * who may make pods may set them, by `podOverlay`.
 */
const REFUSED =
  /^(NODE_.*|LD_.*|GLIBC_TUNABLES|GCONV_PATH|PATH|SSL_.*|OPENSSL_.*|(HTTPS?|ALL|NO|FTP|GRPC|NO_GRPC)_PROXY|GRPC_DEFAULT_SSL_ROOTS_FILE_PATH|HOSTALIASES|KUBERNETES_SERVICE_HOST|BLOCK_(LOOPBACK|API_SERVER))$/i;

/**
 * Of those, what `envFrom` could bring. Empty, each is as if it were not there, and `env` counts before `envFrom`. The
 * others are written by the operator or the kubelet, or nothing reads them.
 */
export const EMPTIED_VARIABLES = [
  'ALL_PROXY',
  'GCONV_PATH',
  'GLIBC_TUNABLES',
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
  'HOSTALIASES',
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
  'grpc_proxy',
  'http_proxy',
  'https_proxy',
  'no_grpc_proxy',
  'no_proxy',
] as const;

export const isCodeVariable = (name: string): boolean => REFUSED.test(name);
