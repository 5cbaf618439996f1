import { requestBody } from '@groundstate/contract/json-api'
import { documentOf, hasOne, pageOf, resource, timestamp, wholeListOf } from '@groundstate/contract/responses'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Route } from './http.ts'
import { type ApiOperation, openApi } from './openapi.ts'
import { binary } from './responses.ts'

const shelf = resource('shelves', {
  name: 'Shelf',
  attributes: { name: z.string().describe('the text of its label') },
})
const book = resource('books', {
  attributes: { title: z.string(), pages: z.int().nullable(), 'bought-at': timestamp },
  relationships: { shelf: hasOne('shelves') },
})
const createBook = requestBody('books', z.object({ title: z.string(), 'bought-at': z.iso.datetime().optional() }))
const include = { shelf, 'shelf.owner': null, neighbours: [book, shelf] }
const query = { 'search[title]': z.string().describe('part of the title') }

const ROUTES: Route[] = [
  {
    ...at('GET', '/shelves/:shelf/books'),
    options: {
      summary: 'List the books of a shelf',
      access: 'signed-in',
      responses: { 200: pageOf(book) },
      include,
      query,
    },
  },
  {
    ...at('POST', '/books'),
    options: {
      summary: 'Add a book',
      access: { workspace: ['runs:apply', 'force-unlock'], organization: 'tags:manage' },
      audit: ['book create', 'shelf update'],
      responses: { 201: documentOf(book) },
      body: createBook,
    },
  },
  {
    ...at('DELETE', '/books/:id'),
    options: {
      summary: 'Remove a book',
      access: [{ organization: 'variable-sets:manage' }, 'site-admin'],
      audit: 'book destroy',
      responses: { 204: null },
    },
  },
  {
    ...at('POST', '/books/:id/actions/weigh'),
    options: {
      summary: 'Weigh a book',
      access: { workspace: 'lock' },
      audit: { none: 'its weight is not kept' },
      responses: { 204: null },
    },
  },
  {
    ...at('GET', '/books/:id/text'),
    options: { summary: 'Read a book', responses: { 200: binary('text/plain'), 304: null }, access: 'public' },
  },
  {
    ...at('GET', '/shelves'),
    options: { summary: 'List all shelves', responses: { 200: wholeListOf(shelf) }, access: 'site-admin' },
  },
  {
    ...at('GET', '/opening-hours'),
    options: {
      summary: 'Show the opening hours',
      access: 'person',
      responses: { 200: z.strictObject({ opens: timestamp }) },
    },
  },
]
const api = openApi(ROUTES, 'http://library.test')

function at(method: Route['method'], path: string) {
  return { method, url: `/api/v2${path}`, feature: 'library' }
}

function operation(method: string, path: string): ApiOperation {
  const found = api.paths[`/api/v2${path}`]?.[method]
  if (!found) throw new Error(`there is no ${method} ${path}`)
  return found
}

function responseSchema(method: string, path: string, status: string) {
  return operation(method, path).responses[status]?.content?.['application/vnd.api+json']?.schema
}

test('routes with every possible description form a valid document', async () => {
  expect(await new Validator().validate(structuredClone(api))).toEqual({ valid: true })
})

test('a resource is described once, in its wire format', () => {
  const attributes = api.components.schemas['Book']?.properties?.['attributes']

  expect(responseSchema('post', '/books', '201')).toEqual({
    type: 'object',
    properties: { data: { $ref: '#/components/schemas/Book' } },
    required: ['data'],
  })
  expect(attributes).toEqual({
    type: 'object',
    properties: {
      title: { type: 'string' },
      pages: { type: ['integer', 'null'] },
      'bought-at': { type: 'string', format: 'date-time' },
    },
    required: ['title', 'pages', 'bought-at'],
  })
  expect(api.components.schemas['Shelf']?.properties?.['attributes']?.properties?.['name']).toEqual({
    type: 'string',
    description: 'the text of its label',
  })
})

test('included resources are those of the include paths', () => {
  expect(responseSchema('get', '/shelves/{shelf}/books', '200')?.properties?.['included']).toEqual({
    type: 'array',
    items: { anyOf: [{ $ref: '#/components/schemas/Shelf' }, { $ref: '#/components/schemas/Book' }] },
  })
  expect(responseSchema('post', '/books', '201')?.properties).not.toHaveProperty('included')
})

test('a list has parameters for pages, includes and filters', () => {
  const parameters = operation('get', '/shelves/{shelf}/books').parameters

  expect(parameters.map((parameter) => [parameter.in, parameter.name, parameter.required ?? false])).toEqual([
    ['path', 'shelf', true],
    ['query', 'include', false],
    ['query', 'page[number]', false],
    ['query', 'page[size]', false],
    ['query', 'search[title]', false],
  ])
  expect(parameters[1]).toMatchObject({ explode: false, schema: { items: { enum: Object.keys(include) } } })
  expect(parameters[4]).toMatchObject({ description: 'part of the title', schema: { type: 'string' } })
})

test('an unpaged list has no page parameters', () => {
  expect(operation('get', '/shelves').parameters).toEqual([])
})

test('a response without a body has no content', () => {
  expect(operation('delete', '/books/{id}').responses['204']).toEqual({ description: 'No Content' })
})

test('content other than JSON is named by its type', () => {
  const { responses } = operation('get', '/books/{id}/text')

  expect(responses['200']?.content).toEqual({ 'text/plain': { schema: {} } })
  expect(responses['304']).toEqual({ description: 'Not Modified' })
})

test('JSON other than JSON:API is described as plain JSON', () => {
  expect(Object.keys(operation('get', '/opening-hours').responses['200']?.content ?? {})).toEqual(['application/json'])
})

test('a route lists its possible error responses', () => {
  const named = (method: string, path: string) =>
    Object.keys(operation(method, path).responses).filter((status) => /^[45]/.test(status))

  expect(named('get', '/opening-hours')).toEqual(['401', '4XX', '5XX'])
  expect(named('post', '/books')).toEqual(['401', '422', '4XX', '5XX'])
  expect(named('get', '/books/{id}/text')).toEqual(['404', '4XX', '5XX'])
  expect(named('get', '/shelves')).toEqual(['401', '404', '4XX', '5XX'])
})

test('times in bodies have a format and no pattern', () => {
  const body = api.components.schemas['postBooksBody']?.properties?.['data']?.properties?.['attributes']

  expect(body).toMatchObject({ required: ['title'] })
  expect(body?.properties?.['bought-at']).toEqual({ type: 'string', format: 'date-time' })
})

describe('an operation describes', () => {
  const description = (method: string, path: string) => operation(method, path).description.split('\n\n')

  test('its callers', () => {
    expect(description('get', '/books/{id}/text')).toEqual(['Needs no token.'])
    expect(description('get', '/shelves')).toEqual(['Needs the rights of a site administrator.'])
    expect(description('get', '/opening-hours')).toEqual(['Needs the token or session of a person.'])
  })

  test('its required permissions', () => {
    expect(description('post', '/books')[0]).toBe(
      'Needs the permissions `runs:apply` and `force-unlock` on the workspace and the permission `tags:manage` in the organization.',
    )
    expect(description('delete', '/books/{id}')[0]).toBe(
      'Needs the permission `variable-sets:manage` in the organization, or the rights of a site administrator.',
    )
  })

  test('its audit events, or why there are none', () => {
    expect(description('post', '/books')[1]).toBe('The audit trail records `book create` and `shelf update`.')
    expect(description('delete', '/books/{id}')[1]).toBe('The audit trail records `book destroy`.')
    expect(description('post', '/books/{id}/actions/weigh')[1]).toBe(
      'The audit trail records nothing: its weight is not kept.',
    )
  })
})
