import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

/** Every body of the contract, by name. */
const bodies = new Map<string, z.core.$ZodType>()
for (const file of readdirSync(import.meta.dirname)) {
  if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue
  const exported: Record<string, unknown> = await import(`./${file}`)
  for (const [name, value] of Object.entries(exported)) {
    if (name.endsWith('Body') && value instanceof z.ZodType) bodies.set(name, value)
  }
}

/** The object that a schema describes below its preprocessing and its defaults; undefined for another schema. */
function objectOf(schema: z.core.$ZodType | undefined): z.ZodObject | undefined {
  if (schema instanceof z.ZodObject) return schema
  if (schema instanceof z.ZodPipe) return objectOf(schema.in) ?? objectOf(schema.out)
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return objectOf(schema.unwrap())
  return undefined
}

const relationships = [...bodies].flatMap(([body, schema]) => {
  const related = objectOf(objectOf(objectOf(schema)?.shape['data'])?.shape['relationships'])
  return Object.entries(related?.shape ?? {}).map(([name, relationship]) => ({ body, schema, name, relationship }))
})
const isOptional = ({ relationship }: (typeof relationships)[number]) => z.safeParse(relationship, undefined).success

function problems(schema: z.core.$ZodType, relationships: unknown) {
  const issues = z.safeParse(schema, { data: { relationships } }).error?.issues ?? []
  return issues.filter(({ path }) => path[1] === 'relationships')
}

test('the bodies of the contract are found', () => {
  expect(bodies.size).toBeGreaterThan(40)
  expect(relationships.length).toBeGreaterThan(20)
})

describe.each([null, { data: null }])('a relationship that is %j', (none) => {
  test.each(relationships.filter(isOptional))('counts as absent, or removes: $name in $body', ({ schema, name }) => {
    const found = problems(schema, { [name]: none })

    expect(found.filter(({ path }) => path[2] === name)).toEqual([])
  })

  const required = relationships.filter((each) => !isOptional(each))
  test.each(required)('is missing where it is needed: $name in $body', ({ schema, name }) => {
    const found = problems(schema, { [name]: none }).filter(({ path }) => path[2] === name)

    expect(found).toMatchObject([
      { path: ['data', 'relationships', name], message: expect.stringMatching(/^it must be \{"data": /) },
    ])
  })
})

test.each([undefined, null, {}])('relationships that are %j are equivalent to none', (none) => {
  const optional = [...bodies].filter(([body]) => relationships.filter((each) => each.body === body).every(isOptional))

  for (const [, schema] of optional) expect(problems(schema, none)).toEqual([])
})

test.each([...bodies].filter(([, schema]) => objectOf(objectOf(schema)?.shape['data'])?.shape['attributes']))(
  'the attributes may be null or absent, and the id null or empty: %s',
  (_, schema) => {
    const about = (data: object) =>
      (z.safeParse(schema, { data }).error?.issues ?? []).filter(
        ({ path, code, input }) =>
          path[1] === 'id' || (path.length === 2 && path[1] === 'attributes' && code === 'invalid_type' && !input),
      )

    expect(about({ attributes: null, id: null })).toEqual([])
    expect(about({ id: '' })).toEqual([])
  },
)

type JsonSchema = Record<string, unknown> & {
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  additionalProperties?: JsonSchema | false
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
}

/** The paths of the lists, maps and texts in a schema that have no maximum. */
function unbounded(schema: JsonSchema, path: string): string[] {
  const { type, items, pattern = '*', additionalProperties: values } = schema
  const isOpenText = [type].flat().includes('string') && /[*+]/.test(String(pattern))
  // The size of contents is limited by that of the body.
  const isClosedText =
    ['maxLength', 'enum', 'const', 'contentEncoding'].some((keyword) => keyword in schema) ||
    String(schema['format']).startsWith('date')
  const isUnbounded =
    (type === 'array' && !('maxItems' in schema)) ||
    (values && Object.keys(values).length > 0 && !('maxProperties' in schema)) ||
    (isOpenText && !isClosedText)
  const parts = [
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(items ? [items] : []),
    ...(values ? [values] : []),
  ]
  return [
    ...(isUnbounded ? [path] : []),
    ...parts.flatMap((part) => unbounded(part, path)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, part]) => unbounded(part, `${path}/${name}`)),
  ]
}

test.each([...bodies])('every list, map and text has a maximum: %s', (_, schema) => {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })

  expect(unbounded(json as JsonSchema, '')).toEqual([])
})
