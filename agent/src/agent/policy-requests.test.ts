import { symlink, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { create } from 'tar'
import { describe, expect, test } from 'vitest'
import { startAgent, startServer, temporaryDirectory } from '../testing/agent-fixture.ts'
import { testOpa } from '../testing/opa.ts'
import { SANDBOXES, evaluated, policyAgentOptions, rego } from '../testing/policy-agent.ts'

describe('an agent evaluates', { timeout: 60_000 }, () => {
  test('each policy of a set: an empty array passes, the elements of another are its output', async () => {
    const files = {
      'rules/a.rego':
        rego(`deny contains msg if { some r in input.plan.resource_changes; msg := sprintf("%s of %s", [r.address, input.run.id]) }
warn contains {"limit": data.parameters.limit} if { true }
fine := []
`),
    }
    const policies = ['deny', 'warn', 'fine'].map((name) => ({ name, query: `data.rules.${name}` }))

    const outcome = await evaluated({ files, policiesPath: 'rules', policies, parameters: { limit: '7' } })

    expect(outcome).toEqual([
      { name: 'deny', status: 'failed', output: ['aws_db.main of run-1'], omitted: 0 },
      { name: 'warn', status: 'failed', output: ['{"limit":"7"}'], omitted: 0 },
      { name: 'fine', status: 'passed', output: [], omitted: 0 },
    ])
  })

  test.for([
    ['a missing rule', 'other := 1', /the query is undefined/],
    ['a result that is no array', 'deny := true', /returned a boolean, but an array is expected/],
    ['a syntax error with its line', 'deny := {', /^a\.rego:\d+: /],
    ['a conflict', 'deny := [1]\ndeny := [2]', /a\.rego:4: complete rules must not produce multiple outputs/],
  ] as const)('%s as an error', async ([, body, message]) => {
    const outcome = await evaluated({ files: { 'a.rego': rego(body) } })

    expect(outcome).toEqual([expect.objectContaining({ status: 'errored', message: expect.stringMatching(message) })])
  })

  test('the policies of a set one by one: an error of one is none of the others', async () => {
    const files = { 'a.rego': rego('deny := []\nbad := [1]\nbad := [2]') }
    const policies = ['bad', 'deny'].map((name) => ({ name, query: `data.rules.${name}` }))

    const outcome = await evaluated({ files, policies })

    expect(outcome).toMatchObject([{ status: 'errored' }, { status: 'passed' }])
  })

  test('rules without if and contains, as before OPA 1.0', async () => {
    const outcome = await evaluated({ files: { 'a.rego': 'package rules\ndeny[msg] { msg := "old" }\n' } })

    expect(outcome).toMatchObject([{ status: 'failed', output: ['old'] }])
  })

  test('and never reports a sensitive value', async () => {
    const body = `deny := [r.change.after.password, sprintf("is %s!", [r.change.after.password]), json.marshal(r), data.parameters.key, r.change.after.size] if { some r in input.plan.resource_changes }`

    const outcome = await evaluated({
      files: { 'a.rego': rego(body) },
      parameters: { key: 'parameter-secret' },
      sensitiveParameters: ['key'],
    })

    expect(outcome).toMatchObject([
      { output: ['(sensitive value)', 'is (sensitive value)!', expect.any(String), '(sensitive value)', '5'] },
    ])
    expect(JSON.stringify(outcome)).not.toMatch(/hunter22|parameter-secret/)
  })

  test.runIf(SANDBOXES.includes(true))('in the sandbox of runs', async () => {
    const outcome = await evaluated({ files: { 'a.rego': rego('deny := ["no"]') } }, { agent: { sandbox: true } })

    expect(outcome).toMatchObject([{ status: 'failed', output: ['no'] }])
  })

  test('no archive with a link out of it', async () => {
    const directory = await temporaryDirectory()
    await mkdir(join(directory, 'set'))
    await symlink('/etc', join(directory, 'set/etc'))
    const archive = await buffer(create({ gzip: true, cwd: join(directory, 'set') }, ['.']))

    const outcome = await evaluated({ archive })

    expect(outcome).toMatchObject([{ status: 'errored', message: expect.stringMatching(/"\.?\/?etc"/) }])
  })

  test('again on another agent, after the first has died', async () => {
    const server = await startServer()
    const first = await startAgent(server, policyAgentOptions())
    const loop =
      'deny := [x | some a in numbers.range(1, 100000); some b in numbers.range(1, 3000); a * b == -1; x := a]'
    const files = { 'a.rego': rego(loop) }
    const policies = [{ name: 'deny', query: 'data.rules.deny' }]
    const request = server.policies.submit({
      opa: { version: testOpa().version },
      leaseMs: 400,
      timeLimitMs: 3_000,
      sets: [{ files, policies }],
    })
    await expect.poll(request.heartbeats).toBeGreaterThan(0)

    first.forceStop()
    first.stop()
    await first.ended
    server.policies.requeue()
    await startAgent(server, policyAgentOptions())

    expect(await request.reported).toEqual({ error: 'the policies were not evaluated within 3 s' })
    expect(first.logged.map(({ message }) => message)).toContain('evaluation dropped')
  })
})

test('an agent without OPA reports how to get it', async () => {
  const outcome = await evaluated({ files: {} }, { opa: { version: '0.1.0' } })

  expect(outcome).toMatch(
    /^OPA 0\.1\.0 is not on this agent.*downloads are off: install it on its PATH, or name it with --opa-path$/,
  )
})
