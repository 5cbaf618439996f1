import type { Readable } from 'node:stream'
import type { Resource } from '@groundstate/contract/json-api'
import type { z } from 'zod'
import type { Page, Paged } from '../db/db.ts'
import { pageLinks, paginationMeta } from './pagination.ts'

/** The return value of a handler, written by `http/http.ts`. */
export type ApiResponse = {
  status: number
  headers?: Record<string, string>
  /** A JSON:API document, serialised when it is written. */
  document?: unknown
  /** Content of any other type. */
  content?: { type: string; data: string | Buffer | Readable; size?: number }
}

/** The body that a route sends with a status: JSON of a schema, content of another type, or none (null). */
export type ResponseSchema = z.ZodType | Binary | null
/** Content other than JSON. */
export type Binary = { contentType: string }

/** Content of a type, such as `application/gzip`, in the `responses` of a route. */
export function binary(contentType: string): Binary {
  return { contentType }
}

export function ok(resource: Resource, included?: readonly Resource[]): ApiResponse {
  return { status: 200, document: document(resource, included) }
}

export function created(resource: Resource, included?: readonly Resource[]): ApiResponse {
  return { status: 201, document: document(resource, included) }
}

function document(resource: Resource, included?: readonly Resource[]) {
  return included ? { data: resource, included } : { data: resource }
}

/** A page of a list with its links and `meta.pagination`; `url` is the URL of the request. */
export function listPage(
  list: { url: string; page: Page },
  paged: Paged<Resource>,
  included?: readonly Resource[],
): ApiResponse {
  return {
    status: 200,
    document: {
      data: paged.rows,
      ...(included && { included }),
      links: pageLinks(list.url, list.page, paged.total),
      meta: { pagination: paginationMeta(list.page, paged.total) },
    },
  }
}

/** A list that is never split. Clients that read `meta.pagination` see a single page. */
export function listAll(resources: readonly Resource[], included?: readonly Resource[]): ApiResponse {
  const page = { number: 1, size: Math.max(1, resources.length) }
  return {
    status: 200,
    document: {
      data: resources,
      ...(included && { included }),
      meta: { pagination: paginationMeta(page, resources.length) },
    },
  }
}

/** A response with a secret: not cached, and not compressed, since its size would reveal the content. */
export function unstored(response: ApiResponse): ApiResponse {
  return { ...response, headers: { ...response.headers, 'cache-control': 'no-store' } }
}

export function noContent(): ApiResponse {
  return { status: 204 }
}

/** The action was accepted; its effects follow later. */
export function accepted(): ApiResponse {
  return { status: 202 }
}

export function redirect(url: string, status: 302 | 303 | 307 = 302): ApiResponse {
  return { status, headers: { location: url } }
}

export function json(value: unknown, status = 200): ApiResponse {
  return { status, content: { type: 'application/json; charset=utf-8', data: JSON.stringify(value) } }
}

export function bytes(data: Buffer | Readable, type = 'application/octet-stream', size?: number): ApiResponse {
  return { status: 200, content: size === undefined ? { type, data } : { type, data, size } }
}
