import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import type { OpenApi, ApiOperation, Response, JsonSchema } from './openapi.ts'

const app = await createTestApp()
const response = await app.request({ url: '/api/v2/openapi.json' })
const api = response.json() as OpenApi
const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]): [path: string, method: string, operation: ApiOperation] => [
    path,
    method,
    operation,
  ]),
)

describe('the OpenAPI document', () => {
  test('is public and has version 3.1', () => {
    expect(response.status).toBe(200)
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(api.openapi).toMatch(/^3\.1\.\d$/)
    expect(api.info).toMatchObject({ title: expect.any(String), version: expect.any(String) })
    expect(api.components['securitySchemes']).toMatchObject({ token: { type: 'http', scheme: 'bearer' } })
  })

  test('is valid', async () => {
    expect(await new Validator().validate(structuredClone(api))).toEqual({ valid: true })
  })

  test('has every route of the public API and no other', () => {
    const registered = app.server.routes
      .filter((route) => route.url.startsWith('/api/v2/'))
      .map((route) => `${route.method.toLowerCase()} ${route.url.replaceAll(/:(\w+)/g, '{$1}')}`)

    expect(operations.map(([path, method]) => `${method} ${path}`).toSorted()).toEqual(registered.toSorted())
    expect(registered.length).toBeGreaterThan(100)
  })

  test('declares the parameters of each path, once', () => {
    const wrong = operations.filter(([path, , { parameters }]) => {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const declared = parameters.filter((parameter) => parameter.in === 'path' && parameter.required)
      return JSON.stringify(named) !== JSON.stringify(declared.map(({ name }) => name))
    })

    expect(wrong).toEqual([])
  })

  test('names each operation once, and each tag of one', () => {
    const ids = operations.map(([, , { operationId }]) => operationId)
    const tags = new Set(operations.flatMap(([, , operation]) => operation.tags))

    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[a-z]+[A-Za-z0-9]+$/.test(id))).toEqual([])
    expect([...tags].toSorted()).toEqual(api.tags.map(({ name }) => name))
  })

  test('has no dangling references', () => {
    const references = JSON.stringify(api).matchAll(/"\$ref":"([^"]+)"/g)

    const broken = [...references].filter(([, pointer = '']) => {
      let at: unknown = api
      for (const step of pointer.replace('#/', '').split('/')) at = (at as Record<string, unknown> | undefined)?.[step]
      return at === undefined
    })

    expect(broken).toEqual([])
  })

  test('allows additional members in responses', () => {
    expect(JSON.stringify(api)).not.toContain('"additionalProperties":false')
  })

  test('describes the errors of each operation', () => {
    const silent = operations.filter(([, , { responses }]) => !responses['4XX'] || !responses['5XX'])

    expect(silent).toEqual([])
    expect(Object.values(api.components.responses).map(schemaOf)).toEqual(
      Object.values(api.components.responses).map(() => ({ $ref: '#/components/schemas/Errors' })),
    )
  })

  test('describes each operation and its responses', () => {
    const undescribed = operations.filter(([, , { summary, responses }]) => !summary || !hasSuccess(responses))

    expect(undescribed.map(([path, method]) => `${method} ${path}`)).toEqual([])
  })

  test('describes the members of each resource in a response', () => {
    const bare = operations.flatMap(([path, method, { responses }]) =>
      Object.entries(responses).flatMap(([status, response]) => {
        const schema = schemaOf(response)
        const data = schema && resolved(schema).properties?.['data']
        if (!response.content?.['application/vnd.api+json'] || (data && hasMembers(data))) return []
        return status.startsWith('2') ? [`${method} ${path} ${status}`] : []
      }),
    )

    expect(bare).toEqual([])
  })

  test('describes the callers of each operation and the audit events of each write', () => {
    const silent = operations.filter(
      ([, method, { description }]) =>
        !description.startsWith('Needs ') ||
        (method !== 'get' && !description.includes('\n\nThe audit trail records ')),
    )

    expect(silent.map(([path, method]) => `${method} ${path}`)).toEqual([])
    expect(api.paths['/api/v2/workspaces/{id}/actions/lock']?.['post']?.description).toBe(
      'Needs the permission `lock` on the workspace.\n\nThe audit trail records `workspace lock`.',
    )
  })

  test('has the schemas that bodies are parsed with', () => {
    const create = api.paths['/api/v2/organizations/{organization}/workspaces']?.['post'] ?? fail('no such operation')
    const name = create.requestBody?.content['application/vnd.api+json']?.schema.$ref?.split('/').at(-1) ?? ''
    const data = api.components.schemas[name]?.properties?.['data']

    expect(data?.properties?.['type']).toMatchObject({ const: 'workspaces' })
    expect(data?.properties?.['attributes']).toMatchObject({
      properties: { name: { type: 'string' } },
      required: expect.arrayContaining(['name']),
    })
  })

  test('gives every schema a type', () => {
    const untyped = Object.entries(api.components.schemas).filter(([, schema]) => !isTyped(schema))

    expect(untyped.map(([name]) => name)).toEqual([])
  })
})

function hasSuccess(responses: ApiOperation['responses']) {
  return Object.keys(responses).some((status) => Number(status) < 400)
}

function schemaOf(response: Response) {
  return response.content?.['application/vnd.api+json']?.schema
}

function resolved(schema: JsonSchema): JsonSchema {
  return (schema.$ref && api.components.schemas[schema.$ref.split('/').at(-1) ?? '']) || schema
}

/** Whether a resource, each of its variants or each entry of a list has more than an id and a type. */
function hasMembers(schema: JsonSchema): boolean {
  const { items, oneOf, properties = {} } = resolved(schema)
  if (items) return hasMembers(items)
  if (oneOf) return oneOf.every(hasMembers)
  return 'attributes' in properties || 'relationships' in properties
}

function isTyped(schema: JsonSchema) {
  return ['type', 'anyOf', 'oneOf', 'allOf', '$ref'].some((keyword) => keyword in schema)
}

function fail(reason: string): never {
  throw new Error(reason)
}
