import { expect, test } from 'vitest'
import { type ApiDocument, exampleOf, ruleTexts, searchOperations, tagsOf, typeText } from './api-document.ts'

const operation = (operationId: string, summary: string, tag: string) => ({
  operationId,
  summary,
  description: '',
  tags: [tag] as const,
  responses: {},
})
const document: ApiDocument = {
  info: { version: '1', description: '' },
  paths: {
    '/api/v2/runs': { post: operation('postRuns', 'Create a run', 'run') },
    '/api/v2/workspaces/{id}/actions/lock': { post: operation('postLock', 'Lock a workspace', 'workspace lock') },
  },
  components: {
    responses: {},
    schemas: {
      Tree: { type: 'object', properties: { child: { $ref: '#/components/schemas/Tree' } }, required: ['child'] },
    },
  },
}

test('operations are grouped by tag and found by words of path, summary and method', () => {
  const tags = tagsOf(document)

  expect(tags.map(({ name, page }) => [name, page])).toEqual([
    ['Run', 'run'],
    ['Workspace lock', 'workspace-lock'],
  ])
  expect(searchOperations(tags, 'post LOCK')[0]?.operations[0]?.operationId).toBe('postLock')
  expect(searchOperations(tags, 'lock delete')).toEqual([])
})

test('an example has the required members, and ends where a schema refers to itself', () => {
  const schema = {
    type: 'object',
    properties: {
      type: { const: 'runs' },
      at: { type: 'string', format: 'date-time' },
      tags: { type: 'array', items: { type: ['string', 'null'] } },
      message: { type: 'string' },
    },
    required: ['type', 'at', 'tags'],
  }

  expect(exampleOf(schema, document)).toEqual({ type: 'runs', at: '2026-01-31T12:00:00Z', tags: ['…'] })
  expect(JSON.stringify(exampleOf({ $ref: '#/components/schemas/Tree' }, document))).toContain('null')
})

test('types and rules are in words', () => {
  expect(typeText({ type: 'array', items: { $ref: '#/components/schemas/Tree' } })).toBe('array of Tree')
  expect(typeText({ anyOf: [{ type: 'string' }, { type: 'null' }] })).toBe('string or null')
  expect(ruleTexts({ type: 'string', enum: ['a', 'b'], default: 'a' })).toEqual(['one of a, b', '"a" by default'])
  expect(ruleTexts({ type: 'string', minLength: 1, maxLength: 90 })).toEqual([
    'at least 1 character',
    'at most 90 characters',
  ])
})
