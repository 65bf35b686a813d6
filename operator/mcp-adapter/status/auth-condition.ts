/** Pure: whether pods can check tokens of their authorization servers, put together. */
import { shortened } from '../../health/pod-problems.ts';
import type { DesiredCondition } from '../../status/conditions.ts';
import type { PodHealth } from '../health/pod-health.ts';

/** @param health of ready pods; @returns undefined when none of them says anything about it */
export function authCondition(health: readonly PodHealth[]): DesiredCondition | undefined {
  const condition = (status: DesiredCondition['status'], reason: string, message: string): DesiredCondition => ({
    type: 'AuthReady',
    status,
    reason,
    message,
  });
  const reports = health.flatMap(({ pod, issuers }) => (issuers === undefined ? [] : [{ pod, issuers }]));
  if (reports.length === 0) return undefined;
  const names = [...new Set(reports.flatMap(({ issuers }) => issuers.map(({ issuer }) => issuer)))].sort();
  const lacking = (issuer: string, state: string): string[] =>
    reports
      .filter(({ issuers }) => issuers.some((one) => one.issuer === issuer && one.keys === state))
      .map(({ pod }) => pod);

  const away = names.flatMap((issuer) => {
    const pods = lacking(issuer, 'unavailable').sort();
    return pods.length === 0 ? [] : [`${shortened(issuer)} has given its keys to none of ${pods.join(', ')}`];
  });
  if (away.length > 0) {
    const message =
      `${away.join('; ')}. These answer its tokens with 503 until they have them, and serve all other callers. ` +
      'Check that the issuer answers pods and names itself exactly so; their logs say what went wrong';
    return condition('False', 'IssuerUnavailable', message);
  }
  if (names.some((issuer) => lacking(issuer, 'unread').length > 0)) {
    return condition('Unknown', 'Progressing', 'Pods are reading the keys of their issuers');
  }
  return condition('True', 'KeysKnown', `Every pod knows the keys of ${names.map(shortened).join(', ')}`);
}
