import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as exactJson from './exact-json.ts'
import { redactedPlan } from './redacted-plan.ts'
import { inOlderJavaScript } from './testing/older-javascript.ts'

const testdata = (name: string): any =>
  JSON.parse(readFileSync(new URL(`./testdata/${name}.json`, import.meta.url), 'utf8'))
const schemas = testdata('schemas')
const redacted = (plan: unknown, providers: unknown = schemas): any => redactedPlan(plan, providers)
const change = (document: any, address: string) =>
  document.resource_changes.find((resource: any) => resource.address === address)?.change

describe.each(['create', 'update', 'none'])('the plan "%s" of terraform', (name) => {
  const plan = testdata(name)
  const document = redacted(plan)

  test('has exactly the keys that the command line reads', () => {
    expect(Object.keys(document).toSorted()).toEqual([
      'deferred_changes',
      'output_changes',
      'plan_format_version',
      'provider_format_version',
      'provider_schemas',
      'relevant_attributes',
      'resource_changes',
      'resource_drift',
    ])
    expect(document).toMatchObject({ plan_format_version: '1.2', provider_format_version: '1.0' })
  })

  test('holds no secret', () => {
    expect(JSON.stringify(plan)).toContain('secret-value')
    expect(JSON.stringify(document)).not.toContain('secret-value')
  })

  test('keeps every resource, its actions and its marks', () => {
    const facts = ({ resource_changes: list }: any) =>
      list.map(({ change: { before: _b, after: _a, ...rest }, ...resource }: any) => ({ ...resource, change: rest }))

    expect(facts(document)).toEqual(facts(plan))
  })

  test('has the schema of every resource', () => {
    for (const { provider_name: provider, mode, type } of document.resource_changes) {
      const kind = mode === 'data' ? 'data_source_schemas' : 'resource_schemas'
      expect(document.provider_schemas[provider][kind][type]).toEqual(schemas.provider_schemas[provider][kind][type])
    }
  })
})

test('sensitive values are replaced, with another text if they change; other values are unchanged', () => {
  const document = redacted(testdata('update'))

  expect(change(document, 'terraform_data.counted[1]').before.input).toEqual({
    list: [1, 'x', true],
    n: 1,
    password: '(sensitive value)',
  })
  expect(change(document, 'terraform_data.counted[1]').after.input).toEqual({
    list: [1, 'x', true],
    n: 2,
    password: '(changed sensitive value)',
  })
  expect(document.output_changes.secret).toMatchObject({
    before: '(sensitive value)',
    after: '(changed sensitive value)',
    after_sensitive: true,
  })
  expect(document.output_changes.number).toMatchObject({ before: 1.5, after: 2.5 })
})

test('an unchanged sensitive value is the same text on both sides', () => {
  const { before, after } = change(redacted(testdata('none')), 'terraform_data.whole')

  expect(before.input).toBe('(sensitive value)')
  expect(after.input).toBe('(sensitive value)')
})

test('schemas that the plan does not use are left out', () => {
  const { provider_schemas: used } = redacted(testdata('create'), {
    ...schemas,
    provider_schemas: { ...schemas.provider_schemas, unused: { provider: {}, resource_schemas: { other: {} } } },
  })

  expect(Object.keys(used)).toEqual(['terraform.io/builtin/terraform'])
  expect(Object.keys(used['terraform.io/builtin/terraform'])).toEqual(['provider', 'resource_schemas'])
})

const plain = (resource: object) => ({
  address: 'x_y.z',
  mode: 'managed',
  type: 'x_y',
  name: 'z',
  provider_name: 'example.com/x/x',
  change: { actions: ['delete'], before: { id: '1' }, after: null },
  ...resource,
})

test('a resource without a schema gets one derived from its values, at any depth', () => {
  const other = plain({
    change: { actions: ['create'], before: null, after: { size: 1 }, after_unknown: { arn: true } },
  })
  const deferred = { reason: 'unknown', resource_change: plain({ mode: 'data', type: 'late' }) }

  const document = redacted(
    { resource_changes: [plain({})], resource_drift: [other], deferred_changes: [deferred] },
    {},
  )

  const attribute = { type: 'dynamic', description_kind: 'plain', optional: true }
  expect(document.provider_schemas).toEqual({
    'example.com/x/x': {
      provider: { version: 0 },
      resource_schemas: {
        x_y: {
          version: 0,
          block: { attributes: { id: attribute, size: attribute, arn: attribute }, description_kind: 'plain' },
        },
      },
      data_source_schemas: {
        late: { version: 0, block: { attributes: { id: attribute }, description_kind: 'plain' } },
      },
    },
  })
})

test('drift, deferred changes and invoked actions are redacted as well', () => {
  const secret = {
    change: {
      actions: ['update'],
      before: { a: 'old-secret' },
      after: { a: 'new-secret' },
      before_sensitive: { a: true },
    },
  }
  const action = {
    address: 'action.x.y',
    type: 'x',
    provider_name: 'p',
    config_values: { t: 'act-secret' },
    config_sensitive: { t: true },
  }

  const document = redacted({
    resource_drift: [plain(secret)],
    deferred_changes: [{ reason: 'unknown', resource_change: plain(secret) }],
    action_invocations: [action],
  })

  expect(JSON.stringify(document)).not.toMatch(/old-secret|new-secret|act-secret/)
  expect(document.provider_schemas.p.action_schemas.x.block.attributes).toHaveProperty('t')
})

test('an empty plan has all keys', () => {
  expect(redacted({}, {})).toEqual({
    plan_format_version: '1.2',
    provider_format_version: '1.0',
    resource_changes: [],
    resource_drift: [],
    output_changes: {},
    relevant_attributes: [],
    deferred_changes: [],
    provider_schemas: {},
  })
})

test('a value that either side marks never appears, at any depth', () => {
  const secret = fc.stringMatching(/^[a-z0-9]{12}$/).map((text) => `secret-${text}`)
  const marked = fc.letrec<{ node: [unknown, unknown] }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      secret.map((text): [unknown, unknown] => [text, true]),
      fc.tuple(secret, fc.nat()).map(([text, n]): [unknown, unknown] => [{ deep: [n, text] }, true]),
      fc.jsonValue({ maxDepth: 1 }).map((value): [unknown, unknown] => [value, false]),
      fc
        .array(tie('node'), { maxLength: 3 })
        .map((list): [unknown, unknown] => [list.map(([v]) => v), list.map(([, m]) => m)]),
      fc
        .dictionary(fc.stringMatching(/^[a-c]$/), tie('node'))
        .map((fields): [unknown, unknown] => [
          Object.fromEntries(Object.entries(fields).map(([key, [v]]) => [key, v])),
          Object.fromEntries(Object.entries(fields).map(([key, [, m]]) => [key, m])),
        ]),
    ),
  })).node
  fc.assert(
    fc.property(marked, marked, ([before, one], [after, other]) => {
      const values = { actions: ['update'], before: { v: before }, after: { v: after } }
      const both = { ...values, before_sensitive: { v: one }, after_sensitive: { v: other } }

      const text = JSON.stringify(
        redacted({ resource_changes: [plain({ change: both })], output_changes: { o: both } }),
      )

      expect(text).not.toMatch(/secret-[a-z0-9]{12}/)
    }),
  )
})

const recent = { ...exactJson, redactedPlan }
const older = await inOlderJavaScript(async () => ({
  ...(await import('./exact-json.ts')),
  ...(await import('./redacted-plan.ts')),
}))

describe.each([
  ['in recent versions of JavaScript', recent],
  ['in older versions of JavaScript', older],
])('long numbers %s', (_version, { parseExact, printExact, ...module }) => {
  /** The text of the document for a plan with one change of a resource and of an output. */
  function redactedText(values: { before?: string; after?: string; marks?: unknown; otherMarks?: unknown }) {
    const { before = 'null', after = 'null', marks = false, otherMarks = false } = values
    const change = `{"actions":["update"],"before":${before},"after":${after},
      "before_sensitive":${JSON.stringify(marks)},"after_sensitive":${JSON.stringify(otherMarks)}}`
    const resource = JSON.stringify(plain({ change: '@' })).replace('"@"', change)
    const text = `{"resource_changes":[${resource}],"resource_drift":[${resource}],"output_changes":{"o":${change}}}`
    return printExact(module.redactedPlan(parseExact(text), {}))
  }
  const changeIn = (text: string) => JSON.parse(text).resource_changes[0].change

  test('keep their digits', () => {
    const before = '{"id":12345678901234567890,"rates":[0.1000000000000000055,1.5]}'
    const after = '{"id":12345678901234567891,"rates":[0.1000000000000000056,1.5]}'

    const text = redactedText({ before, after, marks: { rates: [false] }, otherMarks: {} })

    expect(text.split(before)).toHaveLength(4)
    expect(text.split(after)).toHaveLength(4)
  })

  test('that are sensitive are hidden, but whether they change is shown', () => {
    const [before, after] = [
      '{"n":12345678901234567890,"m":9007199254740993}',
      '{"n":12345678901234567891,"m":9007199254740993.0}',
    ]

    const change = changeIn(redactedText({ before, after, marks: { n: true, m: true } }))

    expect(change.before).toEqual({ n: '(sensitive value)', m: '(sensitive value)' })
    expect(change.after).toEqual({ n: '(changed sensitive value)', m: '(sensitive value)' })
  })

  test('that equal a sensitive one are hidden: strings by a string, and numbers by null, which any type allows', () => {
    const before = '{"n":12345678901234567890,"list":[12345678901234567890],"text":"12345678901234567890"}'

    const change = changeIn(redactedText({ before, marks: { n: true } }))

    expect(change.before).toEqual({ n: '(sensitive value)', list: [null], text: '(sensitive value)' })
  })

  test('never appear where either side marks them, and keep every digit elsewhere', () => {
    // Each value is its JSON, next to its mark.
    const digits = fc.stringMatching(/^[1-9][0-9]{11}$/)
    const secret = fc
      .tuple(digits, fc.constantFrom('', '-', '0.'))
      .map(([text, sign]): [string, unknown] => [`${sign}77777777${text}77777777`, true])
    const open = digits.map((text): [string, unknown] => [`5555555${text}.5555555`, false])
    const marked = fc.letrec<{ node: [string, unknown] }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        secret,
        open,
        secret.map(([text]): [string, unknown] => [`{"deep":[1,${text}]}`, true]),
        fc
          .array(tie('node'), { maxLength: 3 })
          .map((list): [string, unknown] => [
            `[${list.map(([text]) => text).join(',')}]`,
            list.map(([, mark]) => mark),
          ]),
        fc
          .dictionary(fc.stringMatching(/^[a-c]$/), tie('node'), { noNullPrototype: true })
          .map((fields): [string, unknown] => [
            `{${Object.entries(fields)
              .map(([key, [text]]) => `"${key}":${text}`)
              .join(',')}}`,
            Object.fromEntries(Object.entries(fields).map(([key, [, mark]]) => [key, mark])),
          ]),
      ),
    })).node
    fc.assert(
      fc.property(marked, marked, ([before, marks], [after, otherMarks]) => {
        const text = redactedText({ before, after, marks, otherMarks })

        expect(text).not.toMatch(/7777777/)
      }),
    )
    fc.assert(
      fc.property(marked, ([before, marks]) => {
        const text = redactedText({ before, marks })

        const numbers = (json: string) => json.match(/5555555\d+\.5555555(?!\d)/g) ?? []
        expect(numbers(text)).toEqual([before, before, before].flatMap(numbers))
      }),
    )
  })
})
