// What `helm test` runs in a pod, as the operator's ServiceAccount.
import { readFile } from 'node:fs/promises';

const folder = '/var/run/secrets/kubernetes.io/serviceaccount';
const token = (await readFile(`${folder}/token`, 'utf8')).trim();
const problems = [];

async function api(path, body) {
  const response = await fetch(`https://kubernetes.default.svc${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, body: await response.json().catch(() => ({})) };
}

async function may(namespace, verb, group, resource) {
  const { body } = await api('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { namespace, verb, group, resource } },
  });
  return body.status?.allowed === true;
}

const { status, body } = await api('/apis/mcpadapter.io/v1alpha1');
const served = (body.resources ?? []).map(({ name }) => name);
for (const name of ['mcpadapters', 'mcpadapters/status', 'mcpadapters/scale', 'apiscrapesources', 'apiscrapesources/status', 'mcptoollocks', 'mcptoollocks/status']) {
  if (!served.includes(name)) problems.push(`the API server does not serve ${name} (HTTP ${status}): are the CRDs installed?`);
}

for (const namespace of process.env.NAMESPACES.split(',')) {
  const where = namespace === '' ? 'all namespaces' : namespace;
  for (const [group, resource] of [['mcpadapter.io', 'mcpadapters'], ['mcpadapter.io', 'apiscrapesources'], ['mcpadapter.io', 'mcptoollocks'], ['apps', 'deployments']]) {
    if (!(await may(namespace, 'watch', group, resource))) problems.push(`the operator may not watch ${resource} in ${where}`);
  }
  for (const verb of ['get', 'list', 'watch']) {
    if (await may(namespace, verb, '', 'secrets')) problems.push(`the operator may ${verb} Secrets in ${where}, which it must not`);
  }
}

if (process.env.OPERATOR !== '') {
  const limit = Date.now() + 60_000;
  for (;;) {
    const answer = await fetch(`${process.env.OPERATOR}/readyz`, { signal: AbortSignal.timeout(5000) }).then(
      (response) => (response.ok ? undefined : `HTTP ${response.status}: ${response.statusText}`),
      (error) => String(error.cause ?? error),
    );
    if (answer === undefined) break;
    if (Date.now() > limit) {
      problems.push(`the operator is not ready at ${process.env.OPERATOR}: ${answer}`);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

for (const problem of problems) console.error(problem);
console.log(problems.length === 0 ? 'the operator works' : `${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
