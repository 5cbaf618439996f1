import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { WebhookRequest } from './host.ts'
import { parsedJson } from './requests.ts'

/* Bodies of webhooks that are JSON, signed with HMAC-SHA256. */

/** The value of a header, given in lower case. */
export function headerOf({ headers }: Pick<WebhookRequest, 'headers'>, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Whether `signature` is the HMAC-SHA256 of the body in hex, compared in constant time. */
export function isSignedWith(secret: string, body: Buffer, signature: string | undefined): boolean {
  const expected = createHmac('sha256', secret).update(body).digest()
  const actual = Buffer.from(signature ?? '', 'hex')
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

const jsonText = z.string().transform((text, context) => {
  const value = parsedJson(text)
  if (value === undefined) context.addIssue('it is not JSON: choose the content type application/json')
  return value
})

/** The body by its schema. Throws a `ZodError`. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: Buffer): z.output<Schema> {
  return schema.parse(jsonText.parse(body.toString('utf8')))
}

/** An object id of git, SHA-1 or SHA-256. */
export const sha = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'it must be a full commit id')

/** Hosts write a missing object id as zeros. */
export function isNoCommit(id: string) {
  return /^0+$/.test(id)
}

/** Kind and name of a ref; undefined if it is neither a branch nor a tag. */
export function parseRef(ref: string): { kind: 'branch' | 'tag'; name: string } | undefined {
  const [, kind, name] = /^refs\/(heads|tags)\/(.+)$/s.exec(ref) ?? []
  if (kind === undefined || name === undefined) return undefined
  return { kind: kind === 'heads' ? 'branch' : 'tag', name }
}
