/** A real S3 server, which the contract tests of the adapter start too. */
export { startProxy } from '../../adapter/files/testing/proxy.ts';
export { S3_START_MS, startS3, TestS3, whyNoS3Server } from '../../adapter/files/testing/s3-server.ts';
