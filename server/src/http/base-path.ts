import type { IncomingMessage } from 'node:http'
import type { ApiResponse } from './responses.ts'

/**
 * The path of the server's base URL, such as `/groundstate` behind a proxy; empty on a dedicated host or without a setting. Routes are unaware
 * of it: it is removed from requests and added to URLs in responses.
 */
export function basePath(baseUrl: string | undefined) {
  return baseUrl ? new URL(baseUrl).pathname.replace(/\/$/, '') : ''
}

/** Removes the base path from the target of a request. A proxy may have done so, and the built-in agent does not send it. */
export function withoutBasePath(base: string, { url = '' }: IncomingMessage) {
  if (base === '' || !url.startsWith(base)) return url
  const rest = url.slice(base.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : url
}

/** Adds the base path to a path of this server unless it has it. Other URLs are unchanged. */
export function withBasePath(base: string, url: string) {
  if (!/^\/(?!\/)/.test(url)) return url
  return url === base || url.startsWith(`${base}/`) || url.startsWith(`${base}?`) ? url : `${base}${url}`
}

/** Adds the base path to the URLs in a response: its redirect and the links of its resources. */
export function responseWithBasePath(base: string, response: ApiResponse): ApiResponse {
  if (base === '') return response
  const location = response.headers?.['location']
  return {
    ...response,
    ...(location !== undefined && { headers: { ...response.headers, location: withBasePath(base, location) } }),
    ...(response.document !== undefined && { document: linked(base, response.document) }),
  }
}

/** A copy of a document, resource or relationship in which every link starts with the base path. */
function linked(base: string, part: unknown): unknown {
  if (Array.isArray(part)) return part.map((item) => linked(base, item))
  if (!isObject(part)) return part
  const copy = { ...part }
  for (const name of ['data', 'included']) if (part[name] !== undefined) copy[name] = linked(base, part[name])
  if (isObject(part['relationships']))
    copy['relationships'] = mapped(part['relationships'], (value) => linked(base, value))
  if (isObject(part['links'])) {
    copy['links'] = mapped(part['links'], (value) => (typeof value === 'string' ? withBasePath(base, value) : value))
  }
  return copy
}

function mapped(object: Record<string, unknown>, change: (value: unknown) => unknown) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))
}

function isObject(value: unknown): value is Record<string, unknown> {
  // Raw JSON is an instance of a class and contains no links.
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
