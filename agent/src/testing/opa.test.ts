import { spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from './agent-fixture.ts'
import { createStandIn, testOpa } from './opa.ts'

/*
 * The stand-in prints to the byte what OPA 1.4.2 prints, on the same arguments. Where `opa` is on the PATH, it is tested in the same way.
 */

const HEAD = 'package rules\n\nimport rego.v1\n\n'

/** A result as OPA's documentation of `opa eval` has it. */
function result(value: string) {
  return `{
  "result": [
    {
      "expressions": [
        {
          "value": ${value.replaceAll('\n', '\n          ')},
          "text": "data.rules.deny",
          "location": {
            "row": 1,
            "col": 1
          }
        }
      ]
    }
  ]
}
`
}

function failure(code: string, message: string, [row, col]: readonly [number, number]) {
  return `{
  "errors": [
    {
      "message": "${message}",
      "code": "${code}",
      "location": {
        "file": "a.rego",
        "row": ${row},
        "col": ${col}
      }
    }
  ]
}
`
}

const CASES: readonly { rego: string; output: string; code?: number; flags?: readonly string[] }[] = [
  { rego: `${HEAD}deny contains x if { x := input.plan.a }`, output: result('[\n  1.5\n]') },
  { rego: `${HEAD}deny contains "no" if false`, output: result('[]') },
  {
    rego: `${HEAD}deny := {"b": "é<>&\\u2028", "a": {2, "x", true, 1, null, [3]}, "c": {}}`,
    output: result(
      '{\n  "a": [\n    null,\n    true,\n    1,\n    2,\n    "x",\n    [\n      3\n    ]\n  ],\n  "b": "é\\u003c\\u003e\\u0026\\u2028",\n  "c": {}\n}',
    ),
  },
  {
    rego: `${HEAD}deny contains msg if { some k, v in input.plan; msg := sprintf("%s is %v of %d%% %v", [k, v, 7, [1, "x", {"y": 2}]]) }`,
    output: result('[\n  "a is 1.5 of 7% [1, \\"x\\", {\\"y\\": 2}]"\n]'),
  },
  {
    rego: `${HEAD}deny := [x | some i in numbers.range(1, 5); i % 2 == 1; not i == 3; x := json.marshal({"b": "<", "a": i})]`,
    output: result('[\n  "{\\"a\\":1,\\"b\\":\\"\\\\u003c\\"}",\n  "{\\"a\\":5,\\"b\\":\\"\\\\u003c\\"}"\n]'),
  },
  {
    rego: `${HEAD}deny := [data.parameters.limit, count({1, 1, 2}), count("äb"), 1 in [1, 2], 3 < 2, 3 * 2 + 1, startswith("abc", "ab")]`,
    output: result('[\n  "7",\n  2,\n  2,\n  true,\n  false,\n  7,\n  true\n]'),
  },
  {
    rego: `${HEAD}default allow := false\n\nallow if input.plan.a == 2\n\ndeny := [allow]`,
    output: result('[\n  false\n]'),
  },
  { rego: `${HEAD}deny := [1 / 0]`, output: '{}\n' },
  { rego: `${HEAD}other := 1`, output: '{}\n' },
  { rego: 'package rules\n\ndeny[msg] { msg := "old" }', flags: ['--v0-compatible'], output: result('[\n  "old"\n]') },
  {
    rego: `${HEAD}deny := [http.send({"url": "http://127.0.0.1"})]`,
    code: 2,
    output: failure('rego_type_error', 'undefined function http.send', [5, 10]),
  },
  {
    rego: `${HEAD}deny := [1]\n\ndeny := [2]`,
    code: 2,
    output: failure('eval_conflict_error', 'complete rules must not produce multiple outputs', [7, 1]),
  },
  {
    rego: 'package rules\n\ndeny[msg] { msg := "old" }',
    code: 2,
    output: failure('rego_parse_error', '`if` keyword is required before rule body', [3, 1]).replace(
      / {4}\}\n {2}\]\n\}\n$/,
      `    },\n${failure('rego_parse_error', '`contains` keyword is required for partial set rules', [3, 1]).split('\n').slice(2).join('\n')}`,
    ),
  },
]

async function prepared(rego: string) {
  const directory = await temporaryDirectory()
  await mkdir(join(directory, 'set'))
  await writeFile(join(directory, 'set/a.rego'), `${rego}\n`)
  await writeFile(join(directory, 'input.json'), '{"plan":{"a":1.5},"run":{"id":"run-1"}}')
  await writeFile(join(directory, 'parameters.json'), '{"parameters":{"limit":"7"}}')
  return directory
}

const found = testOpa()
const binaries = [createStandIn(), ...(found.isStandIn ? [] : [found])]

describe.for(binaries)('$path as OPA', { timeout: 60_000 }, ({ path, version }) => {
  /** Removes `http.send` from the capabilities that it lists itself. */
  function capabilities(): string {
    const { stdout } = spawnSync(path, ['capabilities', '--current'], { encoding: 'utf8' })
    const all = JSON.parse(stdout) as { builtins: { name: string }[] }
    return JSON.stringify({ ...all, builtins: all.builtins.filter(({ name }) => name !== 'http.send'), allow_net: [] })
  }

  test.for(CASES.map((one) => [one.rego.replace(HEAD, ''), one] as const))(
    'prints the documented result of %s',
    async ([, { rego, output, code = 0, flags = [] }]) => {
      const directory = await prepared(rego)
      await writeFile(join(directory, 'capabilities.json'), capabilities())
      const args = ['eval', '--format=json', ...flags, '--capabilities', '../capabilities.json', '--data', '.']
      const documents = ['--data', '../parameters.json', '--input', '../input.json']

      const ended = spawnSync(path, [...args, ...documents, '--', 'data.rules.deny'], {
        cwd: join(directory, 'set'),
        env: {},
        encoding: 'utf8',
      })

      expect({ output: ended.stdout, errors: ended.stderr, code: ended.status }).toEqual({ output, errors: '', code })
    },
  )

  test.for([
    ['a syntax error in its file', `${HEAD}deny := {`, 'data.rules.deny', { file: 'a.rego', row: 6 }],
    ['a syntax error in the query', `${HEAD}deny := []`, 'data.x[', { file: '', row: 1 }],
  ] as const)('reports %s', async ([, rego, query, location]) => {
    const directory = await prepared(rego)
    const args = ['eval', '--format=json', '--data', '.', '--', query]

    const ended = spawnSync(path, args, { cwd: join(directory, 'set'), env: {}, encoding: 'utf8' })

    expect(ended.status).toBe(2)
    const { errors } = JSON.parse(ended.stdout)
    expect(errors[0]).toMatchObject({ code: 'rego_parse_error', message: 'unexpected eof token', location })
  })

  test('prints its version', () => {
    const { stdout, status } = spawnSync(path, ['version'], { encoding: 'utf8' })

    expect(status).toBe(0)
    expect(stdout.split('\n')[0]).toBe(`Version: ${version}`)
  })

  test.for([
    [['eval', '--format=json', '--nonsense', '--', 'data'], 1, /unknown flag: --nonsense/],
    [['eval', '--format=json'], 1, /specify query argument or --stdin/],
    [['eval', '--format=json', '--input', '/nonexistent', '--', 'data.x'], 2, /open \/nonexistent: no such file/],
    [['nonsense'], 1, /unknown command "nonsense" for "opa"/],
  ] as const)('refuses %j', ([args, code, message]) => {
    const ended = spawnSync(path, args, { encoding: 'utf8' })

    expect(ended.status).toBe(code)
    expect(ended.stderr).toMatch(message)
    expect(ended.stdout).toBe('')
  })
})

test.for([
  ['a function', `${HEAD}f(x) := x`],
  ['every', `${HEAD}deny := [] if every x in [1] { x > 0 }`],
  ['a statement before that on which it depends', `${HEAD}deny := [x | x > 0; some x in [1]]`],
] as const)('the stand-in refuses %s, which it does not support', async ([, rego]) => {
  const directory = await prepared(rego)

  const ended = spawnSync(createStandIn().path, ['eval', '--format=json', '--data', '.', '--', 'data.rules.deny'], {
    cwd: join(directory, 'set'),
    encoding: 'utf8',
  })

  expect(ended.status).toBe(2)
})
