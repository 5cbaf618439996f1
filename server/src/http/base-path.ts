import type { IncomingMessage } from 'node:http'
import type { ApiResponse } from './responses.ts'

/**
 * The path of the address of this server, such as `/groundstate` behind a proxy that serves other things too; empty where
 * the server has a dedicated host. Routes are unaware of it: it is removed from requests and added to URLs in responses.
 */
export function basePath(baseUrl: string | undefined) {
  // A server without a setting knows its address only when it listens; there is no path in it.
  return baseUrl === undefined || baseUrl === '' ? '' : new URL(baseUrl).pathname.replace(/\/$/, '')
}

/** Takes the base path off the target of a request. A proxy may have done so, and the agent of this process knows none. */
export function withoutBasePath(base: string, { url = '' }: IncomingMessage) {
  if (base === '' || !url.startsWith(base)) return url
  const rest = url.slice(base.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : url
}

/** Puts the base path before a path of this server, unless it is there already. Other addresses stay as they are. */
export function withBasePath(base: string, address: string) {
  if (!/^\/(?!\/)/.test(address)) return address
  const isThere = address === base || address.startsWith(`${base}/`) || address.startsWith(`${base}?`)
  return isThere ? address : `${base}${address}`
}

/** Puts the base path before the addresses in a response: where it redirects to, and the links of its resources. */
export function answerWithBasePath(base: string, response: ApiResponse): ApiResponse {
  if (base === '') return response
  const location = response.headers?.['location']
  return {
    ...response,
    ...(location !== undefined && { headers: { ...response.headers, location: withBasePath(base, location) } }),
    ...(response.document !== undefined && { document: linked(base, response.document) }),
  }
}

/** Members of a JSON:API document that contain resources, relationships or links. */
const PARTS = ['data', 'included', 'relationships'] as const

/** A copy of a document, resource or relationship in which every link begins with the base path. */
function linked(base: string, part: unknown): unknown {
  if (Array.isArray(part)) return part.map((item) => linked(base, item))
  if (!isObject(part)) return part
  const copy = { ...part }
  for (const name of PARTS) {
    const inner = part[name]
    if (name === 'relationships' && isObject(inner)) {
      copy[name] = Object.fromEntries(Object.entries(inner).map(([key, value]) => [key, linked(base, value)]))
    } else if (inner !== undefined) copy[name] = linked(base, inner)
  }
  if (isObject(part['links'])) {
    const links = Object.entries(part['links'])
    copy['links'] = Object.fromEntries(
      links.map(([key, value]) => [key, typeof value === 'string' ? withBasePath(base, value) : value]),
    )
  }
  return copy
}

function isObject(value: unknown): value is Record<string, unknown> {
  // Parts that are JSON already have a class, and no links of ours.
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
