import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Sender, WebhookRequest } from './host.ts'

/** Git's id of no commit, in SHA-1 and SHA-256 repositories: the branch or tag was created or deleted. */
export const isZero = (sha: string) => /^0+$/.test(sha)

export const NOBODY: Sender = { username: '', avatarUrl: '', pageUrl: '' }

export const BRANCH = 'refs/heads/'
export const TAG = 'refs/tags/'
export const withoutPrefix = (prefix: string, ref: string) => (ref.startsWith(prefix) ? ref.slice(prefix.length) : ref)

/** Percent-decodes; a malformed text remains as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function headerOf(request: WebhookRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Compares in constant time: the digests have the same length. */
export function isSame(actual: string | undefined, expected: string): boolean {
  if (actual === undefined) return false
  const digests = [actual, expected].map((text) => createHmac('sha256', 'compare').update(text).digest())
  return timingSafeEqual(digests[0] as Buffer, digests[1] as Buffer)
}

/** Whether a header has `sha256=` and the HMAC of the body in hexadecimal. */
export function isSignedBody(request: WebhookRequest, header: string, secret: string): boolean {
  return isSame(headerOf(request, header), `sha256=${createHmac('sha256', secret).update(request.body).digest('hex')}`)
}

const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    context.addIssue({ code: 'custom', message: 'the body is not JSON' })
    return z.NEVER
  }
})

/** Throws a `ZodError` for a body that is not JSON or does not match. */
export function parseBody<T>(schema: z.ZodType<T>, request: WebhookRequest): T {
  return schema.parse(json.parse(request.body.toString()))
}
