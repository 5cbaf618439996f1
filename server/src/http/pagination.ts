import type { Page } from '../db/db.ts'
import { invalidParameter } from '../errors.ts'

export type PageSizes = Readonly<{ preset: number; max: number }>

export const PAGE_SIZES: PageSizes = { preset: 20, max: 100 }

/** Reads `page[number]` and `page[size]`, which is limited to the maximum. Throws `invalid` unless they are positive integers. */
export function readPage(query: Record<string, unknown>, sizes = PAGE_SIZES): Page {
  return {
    number: readPositive(query, 'page[number]', 1),
    size: Math.min(readPositive(query, 'page[size]', sizes.preset), sizes.max),
  }
}

export function namesPage(query: Record<string, unknown>) {
  return 'page[number]' in query || 'page[size]' in query
}

function readPositive(query: Record<string, unknown>, parameter: string, preset: number) {
  const text = [query[parameter]].flat().at(-1)
  if (text === undefined || text === '') return preset
  if (typeof text === 'string' && /^\d+$/.test(text) && Number(text) >= 1)
    return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  const value = JSON.stringify(text).slice(0, 60)
  throw invalidParameter(`${parameter} is ${value}; it must be a positive integer`, parameter)
}

/** `meta.pagination` of a list; a page past the end keeps its number and has no next page. */
export function paginationMeta(page: Page, total: number) {
  const pages = Math.max(1, Math.ceil(total / page.size))
  return {
    'current-page': page.number,
    'page-size': page.size,
    'prev-page': page.number > 1 ? page.number - 1 : null,
    'next-page': page.number < pages ? page.number + 1 : null,
    'total-pages': pages,
    'total-count': total,
  }
}

/** The links of a list: the URL of the request with other page numbers; null for missing pages. */
export function pageLinks(url: string, page: Page, total: number) {
  const [, path = '', search = ''] = /^([^?]*)\??(.*)$/s.exec(url) ?? []
  const link = (number: number | null) => {
    const params = new URLSearchParams(search)
    params.set('page[number]', String(number))
    params.set('page[size]', String(page.size))
    return number === null ? null : `${path}?${params.toString()}`
  }
  const meta = paginationMeta(page, total)
  return {
    self: link(page.number),
    first: link(1),
    prev: link(meta['prev-page']),
    next: link(meta['next-page']),
    last: link(meta['total-pages']),
  }
}
