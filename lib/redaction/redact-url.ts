import { REDACTED, looksSecret } from './secret-names.ts';

/** `scheme://userinfo@rest?query#fragment`, each part as it is written. */
const URL_PARTS =
  /^(?<scheme>[a-z][a-z0-9+.-]*:\/\/)?(?:(?<userinfo>[^/?#]*)@)?(?<rest>[^?#]*)(?:\?(?<query>[^#]*))?(?<fragment>#.*)?$/is;

interface UrlParts {
  scheme: string;
  userinfo: string | undefined;
  rest: string;
  parameters: { name: string; value: string | undefined }[];
  fragment: string;
}

function split(url: string): UrlParts {
  const { scheme = '', userinfo, rest = '', query, fragment = '' } = URL_PARTS.exec(url)?.groups ?? {};
  const parameters = (query?.split('&') ?? []).map((pair) => {
    const equals = pair.indexOf('=');
    return equals < 0
      ? { name: pair, value: undefined }
      : { name: pair.slice(0, equals), value: pair.slice(equals + 1) };
  });
  return { scheme, userinfo, rest, parameters, fragment };
}

/** The URL without user name, password and the values of query parameters that look like credentials. */
export function redactUrl(url: string): string {
  const { scheme, userinfo, rest, parameters, fragment } = split(url);
  const query = parameters.map(({ name, value }) =>
    value === undefined ? name : `${name}=${value !== '' && looksSecret(name) ? REDACTED : value}`,
  );
  const user = userinfo === undefined ? '' : `${REDACTED}@`;
  return `${scheme}${user}${rest}${query.length === 0 ? '' : `?${query.join('&')}`}${fragment}`;
}

/** What `redactUrl` takes out, as it is written and decoded. A user name counts only where it stands alone. */
export function secretsInUrl(url: string): string[] {
  const { userinfo, parameters } = split(url);
  const [user = '', ...password] = userinfo?.split(':') ?? [];
  const values = [
    password.length === 0 ? user : password.join(':'),
    ...parameters.filter(({ name }) => looksSecret(name)).map(({ value }) => value ?? ''),
  ];
  return values.flatMap((value) => [value, decoded(value)]).filter((value) => value !== '');
}

/** The same, and the header that its user and password become (RFC 7617). */
export function secretsOfUrl(url: string): string[] {
  const { username = '', password = '' } = URL.parse(url) ?? {};
  const pair = username === '' && password === '' ? [] : [`${decoded(username)}:${decoded(password)}`];
  return [...secretsInUrl(url), ...pair.map((text) => Buffer.from(text).toString('base64'))];
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
