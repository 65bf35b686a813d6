import type { FastifyReply, FastifyRequest } from 'fastify';

import { reasonOf } from '../access/access.ts';
import type { Wish } from '../access/wishes.ts';
import { forbids, lacksScope } from '../errors.ts';

import { isOwnOrigin } from './origin.ts';

/**
 * Lets in a request with a valid signature, on a route that decides itself: the signature stands for the token, and
 * also for the Origin of a page that came from this server. Throws for a page of somebody else.
 */
export function admitSigned(request: FastifyRequest): void {
  const { refusal } = request;
  if (refusal?.code !== 'forbidden_origin') return;
  if (!isOwnOrigin(request.headers.origin, request.host)) throw refusal;
}

/** A challenge that asks for one more scope at a server; undefined where there is no authorization server. */
export type StepUp = (serverId: string, request: FastifyRequest, scope: string) => string | undefined;

/** Throws where the rules of a server do not allow the caller to move files. A signed URL needs no such permission. */
export function admitFiles(request: FastifyRequest, reply: FastifyReply, wish: Wish, stepUp: StepUp): void {
  const { access, attributes } = request;
  const decision = access?.decide(wish);
  if (decision === undefined || decision.outcome === 'allowed') return;
  attributes.reason = reasonOf(decision);
  const { scope } = decision;
  if (scope === undefined) throw forbids(wish.method);
  const challenge = stepUp(attributes.serverId ?? '', request, scope);
  if (challenge !== undefined) reply.raw.setHeader('www-authenticate', challenge);
  throw lacksScope(scope);
}
