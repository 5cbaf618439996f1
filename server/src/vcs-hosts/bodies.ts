import { createHmac, timingSafeEqual } from 'node:crypto'
import { storableJson } from '@groundstate/contract/storable'
import { z } from 'zod'
import { HostError, type HostWebhooks, type Sender, type WebhookRequest } from './host.ts'

/* What the bodies of webhooks and responses of several hosts have in common. */

/** An object id of git, SHA-1 or SHA-256. */
export const sha = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'it must be a full commit id')

/** Hosts write the missing id of a branch or tag that was created or deleted as zeros. */
export const isNoCommit = (id: string) => /^0+$/.test(id)

/** Kind and name of a ref; undefined if it is neither a branch nor a tag. */
export function parseRef(ref: string): { kind: 'branch' | 'tag'; name: string } | undefined {
  const [, kind, name] = /^refs\/(heads|tags)\/(.+)$/s.exec(ref) ?? []
  if (kind === undefined || name === undefined) return undefined
  return { kind: kind === 'heads' ? 'branch' : 'tag', name }
}

/** The name of a branch, with or without `refs/heads/`. */
export const branchName = (ref: string) => ref.replace(/^refs\/heads\//, '')

export const NOBODY: Sender = { username: '', avatarUrl: '', pageUrl: '' }

/** The parts of the identifier of a repository that has an owner; undefined if it is none. */
export function ownerAndName(identifier: string): { owner: string; name: string } | undefined {
  const [, owner, name] = /^(?!\.\.?\/)([\w.-]+)\/(?!\.\.?$)([\w.-]+)$/.exec(identifier) ?? []
  return owner === undefined || name === undefined ? undefined : { owner, name }
}

export function requireOwnerAndName(identifier: string) {
  const parts = ownerAndName(identifier)
  if (!parts) throw new HostError('not-found', `"${identifier}" is not of the form owner/repository`)
  return parts
}

/** Without the user that some hosts put in the address. */
export const withoutUser = (url: string) => url.replace(/^(https?:\/\/)[^/@]*@/, '$1')

/** Percent-decodes; a malformed text remains as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The value of a header, given in lower case. */
export function headerOf({ headers }: Pick<WebhookRequest, 'headers'>, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Compares in constant time: the digests have the same length. */
export function isSame(actual: string | undefined, expected: string): boolean {
  if (actual === undefined) return false
  const digests = [actual, expected].map((text) => createHmac('sha256', 'compare').update(text).digest())
  return timingSafeEqual(digests[0] as Buffer, digests[1] as Buffer)
}

/** In `signedBy` of a host whose signature `isSignedBody` checks. */
export const BODY_HMAC = '<HMAC-SHA256 of the body in hexadecimal>'

/** Why a host's `verify` refuses a request, for those who set up the webhook. */
export function signatureProblem({ signedBy }: HostWebhooks, request: WebhookRequest): string {
  const sent = signedBy.find((line) => headerOf(request, line.slice(0, line.indexOf(':')).toLowerCase()) !== undefined)
  return sent === undefined
    ? `the webhook has no signature: it must have the header ${signedBy.join(' or ')}`
    : `the signature of the webhook does not match its secret: it must be ${sent}`
}

/** Whether the signature is `prefix` and the HMAC-SHA256 of the body in hexadecimal. */
export function isSignedBody(
  { body }: WebhookRequest,
  secret: string,
  { signature, prefix = 'sha256=' }: { signature: string | undefined; prefix?: string },
): boolean {
  return isSame(signature, `${prefix}${createHmac('sha256', secret).update(body).digest('hex')}`)
}

function parseJson(request: WebhookRequest): unknown {
  try {
    return JSON.parse(storableJson(request.body.toString()))
  } catch {
    const claimsJson = headerOf(request, 'content-type')?.includes('json') === true
    const message = claimsJson ? 'it is not JSON' : 'it is not JSON: choose the content type application/json'
    throw new z.ZodError([{ code: 'custom', message, path: [], input: undefined }])
  }
}

/** The body by its schema. Throws a `ZodError`. */
export function parseBody<T>(schema: z.ZodType<T>, request: WebhookRequest): T {
  return schema.parse(parseJson(request))
}
