import type { Readable } from 'node:stream'
import type { Resource } from '@groundstate/contract/json-api'
import type { z } from 'zod'
import type { Page, Paged } from '../db/db.ts'
import { pageLinks, paginationMeta } from './pagination.ts'

export type ApiResponse = {
  status: number
  headers?: Record<string, string>
  document?: unknown
  /** Content of any other type; `size` in bytes. */
  content?: { type: string; data: string | Buffer | Readable; size?: number | undefined }
}

/** The body that a route sends with a status: JSON of a schema, content of another type, or none (null). */
export type ResponseSchema = z.ZodType | Binary | null
export type Binary = { contentType: string }

/** Content of a type other than JSON, such as `application/gzip`, in the `responses` of a route. */
export function binary(contentType: string): Binary {
  return { contentType }
}

export function ok(data: Resource, included?: readonly Resource[]): ApiResponse {
  return { status: 200, document: included ? { data, included } : { data } }
}

export function created(data: Resource, included?: readonly Resource[]): ApiResponse {
  return { ...ok(data, included), status: 201 }
}

/** A page of a list with its links and `meta.pagination`; `url` is the URL of the request. */
export function listPage({ url, page }: { url: string; page: Page }, { rows, total }: Paged<Resource>): ApiResponse {
  const meta = { pagination: paginationMeta(page, total) }
  return { status: 200, document: { data: rows, links: pageLinks(url, page, total), meta } }
}

type UncountedList = { url: string; page: Page; isLast: boolean }

/** Lists of a whole organization have no totals (public documentation: `pagination-without-totals`). */
export function uncountedPage({ url, page, isLast }: UncountedList, resources: Resource[]): ApiResponse {
  const [path = '', search] = url.split('?', 2)
  const link = (number: number) => {
    const params = new URLSearchParams(search)
    params.set('page[number]', String(number))
    params.set('page[size]', String(page.size))
    return `${path}?${params.toString()}`
  }
  const [previous, next] = [page.number > 1 ? page.number - 1 : null, isLast ? null : page.number + 1]
  return {
    status: 200,
    document: {
      data: resources,
      links: {
        self: link(page.number),
        first: link(1),
        prev: previous === null ? null : link(previous),
        next: next === null ? null : link(next),
      },
      meta: {
        pagination: { 'current-page': page.number, 'page-size': page.size, 'prev-page': previous, 'next-page': next },
      },
    },
  }
}

/** An unpaged list. Clients that read `meta.pagination` see a single page. */
export function listAll(data: readonly Resource[], included?: readonly Resource[]): ApiResponse {
  const pagination = paginationMeta({ number: 1, size: Math.max(1, data.length) }, data.length)
  return { status: 200, document: { data, ...(included && { included }), meta: { pagination } } }
}

/** A response with a secret: not cached, and not compressed, since its size would reveal the content. */
export function unstored(response: ApiResponse): ApiResponse {
  return { ...response, headers: { ...response.headers, 'cache-control': 'no-store' } }
}

export function noContent(): ApiResponse {
  return { status: 204 }
}

/** The action was accepted and takes effect later. */
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
  return { status: 200, content: { type, data, size } }
}
