import { documentOf, hasOne, pageOf, resource, timestamp } from '@groundstate/contract/responses'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { RouteOptions } from '../http/http.ts'
import { binary } from '../http/responses.ts'
import { responseMismatch } from './response-mismatch.ts'

const JSON_API = 'application/vnd.api+json'
const boat = resource('boats', {
  attributes: { name: z.string(), 'built-at': timestamp },
  relationships: { captain: hasOne('people') },
})
const captain = resource('people', { name: 'Captain', attributes: { rank: z.literal('captain') } })
const passenger = resource('people', { name: 'Passenger', attributes: { berth: z.int() } })
const options: RouteOptions = {
  summary: 'Show a boat',
  access: 'public',
  responses: { 200: documentOf(boat), 204: null, 206: binary('text/plain'), 409: documentOf(captain) },
  include: { captain: [captain, passenger], sails: null },
}
const argo = {
  id: 'argo',
  type: 'boats',
  attributes: { name: 'Argo', 'built-at': '2030-01-31T12:00:00.000Z' },
  relationships: { captain: { data: { id: 'jason', type: 'people' } } },
}
const refusal = { errors: [{ status: '404', title: 'not found', detail: 'no such boat' }] }

function mismatch(
  content: unknown,
  {
    status = 200,
    type = JSON_API,
    options: given = options,
  }: { status?: number; type?: string; options?: RouteOptions } = {},
) {
  const text = typeof content === 'object' ? JSON.stringify(content) : content
  const route = { method: 'GET', url: '/boats/:id', options: given, feature: 'boats' } as const
  return responseMismatch({ route, method: 'GET', url: '/boats/argo', status, type, content: text })
}

test('a response of its schema is as described', () => {
  expect(mismatch({ data: argo })).toBeUndefined()
  expect(mismatch({ data: argo, included: [] })).toBeUndefined()
})

test('missing, invalid and undescribed members are reported with their pointers', () => {
  const data = { ...argo, attributes: { name: 7, 'built-at': argo.attributes['built-at'], mast: 'tall' } }

  expect(mismatch({ data })?.split('\n  ')).toEqual([
    'GET /boats/argo returned 200, which does not match its description:',
    '/data/attributes/name: name is 7; it must be a string',
    expect.stringMatching(/^\/data\/attributes: .*unrecognized key: "mast"/),
  ])
})

test('in lists the row is named', () => {
  const page = pageOf(boat)
  const data = [argo, { ...argo, id: undefined }]

  expect(mismatch({ data }, { options: { ...options, responses: { 200: page } } })).toContain(
    '/data/1/id: id is missing',
  )
})

describe('an included resource', () => {
  const included = (...resources: unknown[]) => mismatch({ data: argo, included: resources })

  test('fits one of the schemas for its type', () => {
    const jason = { id: 'jason', type: 'people', attributes: { rank: 'captain' } }
    const orpheus = { id: 'orpheus', type: 'people', attributes: { berth: 7 } }

    expect(included(jason, orpheus)).toBeUndefined()
    expect(included(jason, { ...orpheus, attributes: { berth: 'any' } })).toContain('/included/1/attributes/rank:')
  })

  test('is of a type that may be included', () => {
    expect(included({ id: 'x', type: 'sails' })).toContain('/included/0: sails must not be included')
  })

  test('is present only where a route includes', () => {
    const withoutInclude: RouteOptions = {
      summary: 'Show a boat',
      access: 'public',
      responses: { 200: documentOf(boat) },
    }

    expect(mismatch({ data: argo, included: [] }, { options: withoutInclude })).toContain(
      'unrecognized key: "included"',
    )
  })
})

describe('the status', () => {
  test('is among those described', () => {
    expect(mismatch({ data: argo }, { status: 201 })).toContain('the status is none of 200, 204, 206, 409')
  })

  test('may be 304', () => {
    expect(mismatch(undefined, { status: 304 })).toBeUndefined()
  })

  test('without a body has none', () => {
    expect(mismatch(undefined, { status: 204 })).toBeUndefined()
    expect(mismatch('{}', { status: 204 })).toContain('it has a body')
  })
})

describe('content other than JSON', () => {
  test('is of the type described', () => {
    expect(mismatch('x', { status: 206, type: 'text/plain; charset=utf-8' })).toBeUndefined()
    expect(mismatch('x', { status: 206, type: 'text/html' })).toContain('its type is text/html, not text/plain')
  })

  test('is not parsed as JSON', () => {
    expect(mismatch('x', { type: 'text/html' })).toContain('its type is text/html, not JSON')
    expect(mismatch('{')).toContain('JSON')
  })
})

describe('an error', () => {
  test('is a document of errors, on routes that describe none too', () => {
    for (const given of [options, { ...options, responses: {} }]) {
      expect(mismatch(refusal, { status: 404, options: given })).toBeUndefined()
      expect(mismatch({ errors: [] }, { status: 404, options: given })).toContain(
        '/errors: errors is []; it must not be empty',
      )
    }
  })

  test('may be a document of errors, where the route describes a page', () => {
    const page = { ...options, responses: { 404: binary('text/html') } }

    expect(mismatch(refusal, { status: 404, options: page })).toBeUndefined()
    expect(mismatch({ errors: [] }, { status: 404, options: page })).toContain('it must not be empty')
    expect(mismatch('x', { status: 404, type: 'text/plain', options: page })).toContain('not text/html')
  })

  test('may have a custom form that the route describes', () => {
    expect(mismatch(refusal, { status: 409 })).toContain('/data: data is missing')
  })
})

test('without a route, any response is accepted', () => {
  const response = { method: 'GET', url: '/elsewhere', status: 200, type: JSON_API, content: '{"anything":1}' }

  expect(responseMismatch({ route: undefined, ...response })).toBeUndefined()
})
