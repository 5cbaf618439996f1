import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createPastRun } from '../features/runs/policy-trials/testing/trials.ts'
import { createTestApp, type TestApp } from '../testing/app.ts'
import { createPolicySet, reportPolicies } from '../testing/policies.ts'
import { createTaskSetting, type TaskSetting } from '../testing/task-runs.ts'
import { runCli } from './cli.ts'

let app: TestApp
let url: string
let setting: TaskSetting
let directory: string
let printed = { stdout: '', stderr: '' }
let onProgress = () => {}

beforeAll(async () => {
  app = await createTestApp()
  url = await app.listen()
  setting = await createTaskSetting(app)
  directory = await mkdtemp(join(tmpdir(), 'policies-'))
  await writeFile(
    join(directory, 'policies.hcl'),
    'policy "strict" {\n  query = "data.strict.deny"\n  enforcement_level = "mandatory"\n}\n',
  )
  await writeFile(join(directory, 'strict.rego'), 'package strict\n')
  await mkdir(join(directory, '.git'))
  await writeFile(join(directory, '.git/config'), 'secret')
})

afterAll(async () => {
  vi.restoreAllMocks()
  await rm(directory, { recursive: true, force: true })
})

beforeEach(() => {
  printed = { stdout: '', stderr: '' }
  onProgress = () => {}
  for (const name of ['stdout', 'stderr'] as const) {
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      printed[name] += String(text)
      if (String(text).startsWith('evaluated 0')) onProgress()
      return true
    })
  }
})

const policyTest = async (...args: string[]) =>
  runCli(['node', 'groundstate', 'policy', 'test', ...args, '--url', url, '--token', setting.user.token])

type Failures = Parameters<typeof reportPolicies>[1]

/** Evaluates the policies of the trial as an agent, once the command has started it. */
function evaluateOnce(failures: Failures) {
  const evaluated = Promise.withResolvers<readonly string[]>()
  onProgress = () => {
    const evaluate = async () => {
      await app.runJobs()
      const request = await setting.agent.claimPolicies()
      if (!request) throw new Error('there are no policies to evaluate')
      const archive = await request.archive(request.sets[0]?.id ?? '')
      await reportPolicies(request, failures)
      await app.runJobs()
      const { gunzipSync } = await import('node:zlib')
      return [gunzipSync(archive.bytes).toString('latin1')]
    }
    evaluate().then(evaluated.resolve, evaluated.reject)
  }
  return evaluated.promise
}

describe('groundstate policy test', () => {
  test('exits with 0 if no run would be stopped', async () => {
    const run = await createPastRun(app, setting, { message: 'Grow' })
    const evaluated = evaluateOnce({})

    const code = await policyTest(directory, '--run', run)

    const [archive] = await evaluated
    expect(code).toBe(0)
    expect(printed.stderr).toBe('evaluated 0 of 1 runs\nevaluated 1 of 1 runs\n')
    expect(printed.stdout).toMatch(
      new RegExp(`^passed   ${run}  \\d{4}-\\d\\d-\\d\\d  ${setting.workspaceName}  Grow\n\n1 run: 0 would`),
    )
    expect(archive).toContain('strict.rego')
    expect(archive).not.toContain('secret')
  })

  test('exits with 1 if a run would be stopped, and prints why without control characters', async () => {
    const run = await createPastRun(app, setting)
    const evaluated = evaluateOnce({ strict: { output: ['a \u001b[31mbucket\nis public'] } })

    const code = await policyTest(directory, '--run', run)

    await evaluated
    expect(code).toBe(1)
    expect(printed.stdout).toContain(
      '\n    mandatory policy strict failed\n        a [31mbucket\n        is public\n\n1 run: 1 would have been stopped, 0 warned, 0 passed\n',
    )
  })

  test('exits with 2 if a mandatory policy cannot be evaluated, and prints JSON', async () => {
    const run = await createPastRun(app, setting)
    const evaluated = evaluateOnce({ strict: { status: 'errored', message: 'strict.rego:1: rego_parse_error' } })

    const code = await policyTest(directory, '--run', run, '--json')

    await evaluated
    expect(code).toBe(2)
    expect(JSON.parse(printed.stdout)).toMatchObject({
      trial: { attributes: { status: 'finished' } },
      runs: [{ attributes: { outcomes: [{ error: 'strict.rego:1: rego_parse_error' }] } }],
    })
  })

  test('evaluates the runs of the last 30 days in the scope of a set', async () => {
    const own = await createTaskSetting(app)
    const run = await createPastRun(app, own)
    const set = await createPolicySet(app, own, { policies: [] })
    const evaluated = evaluateOnce({})
    const args = ['node', 'groundstate', 'policy', 'test', directory, '--policy-set', set]

    const code = await runCli([...args, '--url', url, '--token', own.user.token])

    await evaluated
    expect(code).toBe(0)
    expect(printed.stdout).toContain(run)
  })

  test('exits with 2 if there is no run to evaluate', async () => {
    const own = await createTaskSetting(app)
    const set = await createPolicySet(app, own, { policies: [] })
    onProgress = () => void app.runJobs()
    const args = ['node', 'groundstate', 'policy', 'test', directory, '--policy-set', set]

    const code = await runCli([...args, '--url', url, '--token', own.user.token])

    expect(code).toBe(2)
    expect(printed.stderr).toContain('no run was evaluated: name runs with --run')
  })

  test('refuses what cannot be evaluated with one line and exit code 2', async () => {
    const run = await createPastRun(app, setting)
    const empty = await mkdtemp(join(tmpdir(), 'policies-'))
    await writeFile(join(empty, 'policies.hcl'), '')
    const cases: [string[], RegExp][] = [
      [[directory], /^groundstate: name runs with --run, or a policy set with --policy-set/],
      [[directory, '--run', 'run-none'], /^groundstate: GET \/runs\/run-none failed with status 404: run not found/],
      [['--run', run, '--run', 'run-none', directory], /failed with status 404: plan of the run run-none not found/],
      [['/nowhere', '--run', run], /^groundstate: \/nowhere is not a directory with policies.hcl/],
      [['/', '--run', run], /^groundstate: \/policies.hcl can't be read: it must define the policies/],
      [[empty, '--run', run], /failed with status 422: the root of the archive has no .rego file/],
      [[], /missing required argument 'directory'/],
    ]
    for (const [args, message] of cases) {
      printed = { stdout: '', stderr: '' }
      expect(await policyTest(...args)).toBe(2)
      expect(printed.stderr).toMatch(message)
    }
    await rm(empty, { recursive: true })
  })
})
