import { chmod, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startServer, temporaryDirectory } from '../testing/agent-fixture.ts'
import { spawnAgent } from '../testing/agent-process.ts'
import { evaluated, rego, SANDBOXES } from '../testing/policy-agent.ts'
import { OPA_LIMITS } from './evaluation.ts'

/** Two policies of one set, of which the first one misbehaves. */
async function evaluatedPair(body: string, limits: Partial<typeof OPA_LIMITS> = {}, sandbox = false) {
  const policies = ['greedy', 'modest'].map((name) => ({ name, query: `data.rules.${name}` }))
  const files = { 'a.rego': rego(`${body}\nmodest := ["small"]`) }
  const agent = { policyLimits: { ...OPA_LIMITS, ...limits }, sandbox }
  return evaluated({ files, policies }, { agent })
}

const MODEST = { name: 'modest', status: 'failed', output: ['small'], omitted: 0 }
const failedWith = (message: unknown) => [
  { name: 'greedy', status: 'errored', output: [], omitted: 0, message },
  MODEST,
]
const LOOP =
  'greedy := [x | some a in numbers.range(1, 100000); some b in numbers.range(1, 100000); a * b == -1; x := a]'
/** 500 texts of 4 MiB. */
const HOG = `greedy := [count(x)] if {
  a0 := "0123456789abcdef"
  ${[0, 1, 2, 3, 4, 5].map((n) => `a${n + 1} := sprintf("%s%s%s%s%s%s%s%s", [${Array.from({ length: 8 }, () => `a${n}`).join(', ')}])`).join('\n  ')}
  x := [y | some i in numbers.range(1, 500); y := sprintf("%s%d", [a6, i])]
}`
const LARGE = 'greedy := [x | some i in numbers.range(1, 400000); x := sprintf("%d and some text", [i])]'

test.for(SANDBOXES)('a policy that never ends is stopped, and only that one (sandbox: %s)', async (sandbox) => {
  const outcome = await evaluatedPair(LOOP, { timeMs: 3_000 }, sandbox)

  expect(outcome).toEqual(failedWith('the policy was stopped after 3 s, the time limit of a policy'))
})

test.for(SANDBOXES)('a policy that fills the memory is stopped, and only that one (sandbox: %s)', async (sandbox) => {
  const outcome = await evaluatedPair(HOG, { memory: 700 * 1024 ** 2 }, sandbox)

  expect(outcome).toEqual(
    failedWith(expect.stringMatching(/^the policy needs more memory than the 700 MiB of a policy with this plan$/)),
  )
})

test('a policy that returns too much is stopped, and only that one', async () => {
  const outcome = await evaluatedPair(LARGE)

  expect(outcome).toEqual(failedWith('the policy returned more than the 4 MiB of a policy'))
})

test('the policies of a request have a time limit together', async () => {
  const outcome = await evaluated(
    { files: { 'a.rego': rego(LOOP) }, policies: [{ name: 'a', query: 'data.rules.greedy' }] },
    { timeLimitMs: 2_000 },
  )

  expect(outcome).toBe('the policies were not evaluated within 2 s')
})

test('a plan that is too large is refused while it is received', async () => {
  const outcome = await evaluated(
    { files: { 'a.rego': rego('deny := []') } },
    {
      input: { plan: { text: 'x'.repeat(3 * 1024 ** 2) }, run: {} },
      agent: { policyLimits: { ...OPA_LIMITS, input: 2 * 1024 ** 2 } },
    },
  )

  expect(outcome).toBe('the JSON of the plan is larger than the 2 MiB that policies can evaluate')
})

test('a policy reaches no network', async () => {
  const requests: string[] = []
  const listener = createServer((request, response) => {
    requests.push(request.url ?? '')
    response.end('{}')
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void listener.close())
  const address = listener.address()
  const port = typeof address === 'object' ? address?.port : undefined

  const outcome = await evaluatedPair(`greedy := [http.send({"method": "get", "url": "http://127.0.0.1:${port}/"})]`)

  expect(outcome).toMatchObject([
    { name: 'greedy', status: 'errored', message: expect.stringMatching(/undefined function http\.send/) },
    { name: 'modest', status: 'errored' },
  ])
  expect(requests).toEqual([])
})

test.for(['opa.runtime()', 'net.lookup_ip_addr("localhost")'])('a policy cannot call %s', async (call) => {
  const outcome = await evaluated({ files: { 'a.rego': rego(`deny := [${call}]`) } })

  const name = call.slice(0, call.indexOf('('))
  expect(outcome).toMatchObject([{ status: 'errored', message: `a.rego:3: undefined function ${name}` }])
})

/** A program in place of OPA whose evaluation is a shell script. */
async function scriptedOpa(script: readonly string[]) {
  const directory = await temporaryDirectory()
  await chmod(directory, 0o755)
  const path = join(directory, 'opa')
  const lines = [
    '#!/bin/sh',
    'case "$1" in',
    'version) echo "Version: 9.9.9" ;;',
    `capabilities) echo '{"builtins":[{"name":"count"},{"name":"http.send"}],"features":["rego_v1"]}' ;;`,
    'eval)',
    ...script,
    'esac',
  ]
  await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o755 })
  return path
}

/** A program in place of OPA that notes how it was started; `script` prints its result. */
async function notingOpa(script: string) {
  const directory = await temporaryDirectory()
  await chmod(directory, 0o755)
  const notes = join(directory, 'notes')
  await writeFile(notes, '')
  await chmod(notes, 0o666)
  const path = await scriptedOpa([
    `for one in "$@"; do echo "arg $one"; done >> ${notes}`,
    `env | sort | sed 's/^/env /' >> ${notes}`,
    `for one in "$@"; do case "$one" in *.json) echo "file $(cat "$one")";; esac; done >> ${notes}`,
    `echo "stdin $(cat)" >> ${notes}`,
    `${script} ;;`,
  ])
  return { path, notes: async () => (await readFile(notes, 'utf8')).split('\n').filter((line) => line !== '') }
}

const EMPTY = `printf '{\\n  "result": [\\n    {\\n      "expressions": [\\n        {\\n          "value": [],\\n          "text": "data.rules.deny",\\n          "location": {\\n            "row": 1,\\n            "col": 1\\n          }\\n        }\\n      ]\\n    }\\n  ]\\n}\\n'`

test('OPA gets the documented arguments, the input to the byte, the parameters, and nothing of the agent', async () => {
  vi.stubEnv('GROUNDSTATE_AGENT_TOKEN', 'secret-of-the-agent')
  onTestFinished(() => void vi.unstubAllEnvs())
  const opa = await notingOpa(EMPTY)

  const outcome = await evaluated(
    { files: { 'a.rego': rego('deny := []') }, parameters: { limit: '7' } },
    { opa: { version: '9.9.9' }, input: { plan: { a: 1.5 }, run: { id: 'run-1' } }, agent: { opa } },
  )

  expect(outcome).toEqual([{ name: 'deny', status: 'passed', output: [], omitted: 0 }])
  const notes = await opa.notes()
  const runs = /\/[^ ]*\/runs\/polreq-1-\w+/
  const noted = notes
    .map((line) => line.replace(runs, 'DIR'))
    .filter((line) => !/^env (?:PWD|OLDPWD|SHLVL|_)=/.test(line))
  expect(noted).toEqual([
    'arg eval',
    'arg --format=json',
    'arg --capabilities',
    'arg DIR/variables/capabilities.json',
    'arg --data',
    'arg .',
    'arg --data',
    'arg DIR/variables/parameters-0.json',
    'arg --input',
    'arg DIR/variables/input.json',
    'arg --',
    'arg data.rules.deny',
    'env HOME=DIR/home',
    'env PATH=/usr/bin:/bin',
    expect.stringMatching(/^env TMPDIR=/),
    'file {"builtins":[{"name":"count"}],"features":["rego_v1"],"allow_net":[]}',
    'file {"parameters":{"limit":"7"}}',
    'file {"plan":{"a":1.5},"run":{"id":"run-1"}}',
    'stdin ',
  ])
})

test.for([
  ['no JSON', 'echo gibberish', 'OPA printed something other than its JSON'],
  [
    'a failure without output',
    'echo "open x: no such file" >&2; exit 2',
    'OPA ended with exit code 2: open x: no such file',
  ],
  ['a crash', 'kill -SEGV $$', 'OPA was ended by the signal SIGSEGV'],
  ['an undefined query', 'echo "{}"', 'the query is undefined: no rule of this set has its name, or none applied'],
  [
    'errors as documented',
    `echo '{"errors":[{"message":"var x is unsafe","code":"rego_unsafe_var_error","location":{"file":"a.rego","row":3,"col":1}}]}'; exit 2`,
    'a.rego:3: var x is unsafe',
  ],
] as const)('OPA that prints %s is an error of the policy', async ([, script, message]) => {
  const opa = await notingOpa(script)

  const outcome = await evaluated({ files: {} }, { opa: { version: '9.9.9' }, agent: { opa } })

  expect(outcome).toEqual([{ name: 'deny', status: 'errored', output: [], omitted: 0, message }])
})

test.skipIf(process.platform !== 'linux')('the memory of an agent does not grow with the plan', async () => {
  const result = '{"result":[{"expressions":[{"value":["too large"]}]}]}'
  const path = await scriptedOpa([`echo '${result}' ;;`])
  const server = await startServer()
  const agent = spawnAgent(server, await temporaryDirectory(), {
    GROUNDSTATE_ACCEPT: 'policy',
    GROUNDSTATE_OPA_PATH: path,
  })
  /** The highest memory of the agent so far after the evaluation of a plan, in MiB. */
  async function peakWith(changes: number) {
    const change = { address: 'terraform_data.a', change: { after: { text: 'x'.repeat(1000) } } }
    const input = { plan: { resource_changes: Array.from({ length: changes }, () => change) }, run: {} }
    const policies = [{ name: 'deny', query: 'data.rules.deny' }]
    const request = { opa: { version: '9.9.9' }, input, sets: [{ files: {}, policies }] }
    const report = await server.policies.submit(request).reported
    expect(report).toMatchObject({ sets: [{ policies: [{ status: 'failed', output: ['too large'] }] }] })
    return Number(/^VmHWM:\s*(\d+)/m.exec(await readFile(`/proc/${agent.pid}/status`, 'utf8'))?.[1]) / 1024
  }

  const small = await peakWith(1)
  const large = await peakWith(90_000)

  // The plan has 96 MB, and would need several times of that as a document.
  expect(large - small).toBeLessThan(90)
})
