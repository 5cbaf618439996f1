import { expect, test } from 'vitest'
import { configuration, describeWithTerraform, ONE_RESOURCE, startAgent, startServer } from './testing/agent-fixture.ts'
import { archiveOf } from './testing/archive.ts'

describeWithTerraform('a run', () => {
  test('with human-readable logs is planned, and applied in the directory of its plan', async () => {
    const server = await startServer()
    await startAgent(server)

    const plan = server.submit({ runId: 'run-a', configuration: configuration(ONE_RESOURCE) })
    const planned = await plan.finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: Buffer.of() })
    const applied = await apply.finished

    expect(planned).toMatchObject({ status: 'finished', exitCode: 0, hasChanges: true, counts: { additions: 1 } })
    expect(plan.log()).toMatch(/^Terraform v\S+\non \S+\nInitializing plugins and modules\.\.\.\n[^]*\n$/)
    expect(plan.log()).toContain('\x1b[1mPlan:\x1b[0m 1 to add')
    expect(plan.log()).not.toContain('Saved the plan')
    expect([...plan.artifacts.keys()].toSorted()).toEqual(['plan-file', 'plan-json', 'plan-json-redacted'])
    expect(applied).toMatchObject({ status: 'finished', exitCode: 0 })
    expect(apply.log()).toContain('greeting = "hello"')
    expect(server.api.current()?.outputs).toHaveProperty('greeting')
    expect(server.api.states.at(-1)?.runId).toBe('run-a')
  })

  test('without a run page in the CLI prints its URL at the start of its plan, and not in its apply', async () => {
    const server = await startServer()
    await startAgent(server)
    const settings = { runId: 'run-a', pageUrl: 'http://127.0.0.1:7777/app/acme/w/runs/run-a' }

    const plan = server.submit({ ...settings, configuration: configuration(ONE_RESOURCE) })
    await plan.finished
    const apply = server.submit({ ...settings, kind: 'apply', configuration: Buffer.of() })
    await apply.finished

    expect(plan.log()).toMatch(/^The run's page is http:\/\/127.0.0.1:7777\/app\/acme\/w\/runs\/run-a\n\nTerraform v/)
    expect(apply.log()).toMatch(/^Terraform v/)
  })

  test('with structured logs has a header of three plain lines, then only JSON', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration(ONE_RESOURCE)

    const plan = server.submit({ runId: 'run-a', structuredOutput: true, configuration: archive })
    await plan.finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', structuredOutput: true, configuration: archive })
    const applied = await apply.finished

    for (const { log } of [plan, apply]) {
      const lines = log().slice(1, -1).trimEnd().split('\n').slice(3)
      expect(lines.map((line) => JSON.parse(line)).map(({ type }) => type)).toContain('change_summary')
    }
    expect(applied).toMatchObject({ status: 'finished', counts: { additions: 1 } })
  })

  test('whose plan changes nothing keeps no directory and has no changes', async () => {
    const server = await startServer()
    await startAgent(server)

    const planned = await server.submit({ configuration: configuration('locals { a = 1 }') }).finished

    expect(planned).toMatchObject({ status: 'finished', hasChanges: false })
  })

  test('has the name of its workspace as terraform.workspace', async () => {
    const server = await startServer()
    await startAgent(server)

    const plan = server.submit({ configuration: configuration('output "name" { value = terraform.workspace }') })
    await plan.finished

    expect(plan.log()).toContain('name = "net"')
  })

  test.for([
    [
      'a cloud block',
      { 'main.tf': `terraform {\n  cloud {\n    organization = "other"\n    workspaces { tags = ["x"] }\n  }\n}` },
    ],
    ['the remote backend', { 'main.tf': `terraform {\n  backend "remote" {\n    organization = "other"\n  }\n}` }],
    ['a foreign backend', { 'main.tf': `terraform {\n  backend "s3" {\n    bucket = "b"\n  }\n}` }],
    ['a backend in a separate override', { 'a_override.tf': `terraform {\n  backend "local" {}\n}`, 'main.tf': '' }],
    ['JSON alone', { 'main.tf.json': JSON.stringify({ output: { a: { value: 'b' } } }) }],
    ['tests next to it', { 'main.tf': 'locals { a = 1 }', 'x.tftest.hcl': 'run "x" { command = plan }' }],
  ] as const)('stores its state on the server although the configuration has %s', async ([, files]) => {
    const server = await startServer()
    await startAgent(server)
    const archive = archiveOf({ ...files, 'resource.tf': ONE_RESOURCE })

    const planned = await server.submit({ runId: 'run-a', configuration: archive }).finished
    const applied = await server.submit({ kind: 'apply', runId: 'run-a', configuration: archive }).finished

    expect([planned.status, applied.status]).toEqual(['finished', 'finished'])
    expect(server.api.current()?.resources).toMatchObject([{ name: 'one' }])
  })

  test.for([
    undefined,
    { type: 'local', config: { path: null } },
    { type: 's3', config: { bucket: 'b', key: 'k', region: 'eu-west-1' } },
    { type: 'cloud', config: { hostname: 'cloud.invalid', organization: 'o', workspaces: { name: 'w' } } },
  ])('ignores state and backend files in the archive', async (backend) => {
    const server = await startServer()
    await startAgent(server)
    const localResource = {
      mode: 'managed',
      type: 'terraform_data',
      name: 'one',
      provider: 'provider["terraform.io/builtin/terraform"]',
      instances: [
        { schema_version: 0, attributes: { id: 'local', input: null, output: null, triggers_replace: null } },
      ],
    }
    const local = { version: 3, serial: 1, lineage: 'x', backend: { ...backend, hash: 1 } }
    const state = {
      version: 4,
      terraform_version: '1.11.4',
      serial: 3,
      lineage: 'y',
      outputs: {},
      resources: [localResource],
    }
    const archive = archiveOf({
      'main.tf': ONE_RESOURCE,
      'terraform.tfstate': JSON.stringify(state),
      ...(backend === undefined
        ? {}
        : { '.terraform/terraform.tfstate': JSON.stringify(local), '.terraform/environment': 'other' }),
    })

    const plan = server.submit({ configuration: archive })
    const planned = await plan.finished

    expect(planned).toMatchObject({ status: 'finished', counts: { additions: 1 } })
    expect(server.api.states).toEqual([])
  })

  test('destroys all resources with an empty configuration', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration(ONE_RESOURCE)
    await server.submit({ runId: 'run-a', configuration: archive }).finished
    await server.submit({ kind: 'apply', runId: 'run-a', configuration: archive }).finished
    const destroy = {
      runId: 'run-b',
      configuration: archiveOf({}),
      options: { isDestroy: true },
      workingDirectory: 'live/net',
    }

    const planned = await server.submit(destroy).finished
    const applied = await server.submit({ ...destroy, kind: 'apply' }).finished

    expect(planned).toMatchObject({ hasChanges: true, counts: { destructions: 1 } })
    expect(applied).toMatchObject({ status: 'finished' })
    expect(server.api.current()?.resources).toEqual([])
  })

  test.each([
    [
      'a working directory that an archive of one file has not',
      { 'main.tf': ONE_RESOURCE },
      'prod',
      'has no directory "prod"',
    ],
    ['a working directory without configuration', { 'prod/readme.md': '', 'main.tf': '' }, 'prod', 'has no .tf files'],
    ['an archive without configuration', { 'readme.md': '' }, '', 'has no .tf files in its root'],
    ['an empty archive', {}, '', 'has no .tf files in its root'],
  ])(
    'plans nothing for %s, which would destroy everything',
    async (_, files: Record<string, string>, workingDirectory, message) => {
      const server = await startServer()
      await startAgent(server)

      const planned = await server.submit({ configuration: archiveOf(files), workingDirectory }).finished

      expect(planned).toMatchObject({ status: 'errored', message: expect.stringContaining(message) })
    },
  )

  test('targets, replaces and refreshes as requested', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration(`${ONE_RESOURCE}\nresource "terraform_data" "two" { input = "x" }`)
    const targeted = server.submit({
      runId: 'a',
      configuration: archive,
      options: { targetAddrs: ['terraform_data.one'] },
    })
    const first = await targeted.finished
    await server.submit({ kind: 'apply', runId: 'a', configuration: archive }).finished

    const replaced = await server.submit({ configuration: archive, options: { replaceAddrs: ['terraform_data.one'] } })
      .finished
    const refreshed = await server.submit({ configuration: archive, options: { refreshOnly: true } }).finished

    expect(first.counts?.additions).toBe(1)
    expect(replaced.counts).toMatchObject({ additions: 2, destructions: 1 })
    expect(refreshed).toMatchObject({ status: 'finished', hasChanges: false })
  })

  test('executes in the working directory, and fails with a message if the configuration has none of that name', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = archiveOf({ 'live/main.tf': ONE_RESOURCE, 'modules/x/main.tf': '' })

    const there = await server.submit({ configuration: archive, workingDirectory: 'live' }).finished
    const missing = server.submit({ configuration: archive, workingDirectory: 'lives' })
    const refused = await missing.finished
    const outside = await server.submit({ configuration: archive, workingDirectory: '../x' }).finished

    expect(there).toMatchObject({ status: 'finished', hasChanges: true })
    expect(refused).toMatchObject({ status: 'errored', message: expect.stringContaining('no directory "lives"') })
    expect(missing.log()).toContain('no directory "lives"')
    expect(outside).toMatchObject({ status: 'errored', message: expect.stringContaining('has a path with ..') })
  })

  test('logs the output of a failed init', async () => {
    const server = await startServer()
    await startAgent(server)

    const plan = server.submit({ configuration: configuration('module "m" { source = "./gone" }') })
    const planned = await plan.finished

    expect(planned).toMatchObject({ status: 'errored', exitCode: 1 })
    expect(plan.log()).toContain('Unreadable module directory')
    expect(plan.log().endsWith('\n')).toBe(true)
  })

  test('logs the output of a failed plan', async () => {
    const server = await startServer()
    await startAgent(server)

    const plan = server.submit({ configuration: configuration('output "a" { value = tolist(1) }') })
    const planned = await plan.finished

    expect(planned).toMatchObject({ status: 'errored', exitCode: 1 })
    expect(plan.log()).toContain('Invalid function argument')
  })

  test('uploads the configuration that it generates', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration('import {\n  to = terraform_data.made\n  id = "abc"\n}', { 'generated.tf': '' })

    const plan = server.submit({ configuration: archive, options: { allowConfigGeneration: true } })
    const planned = await plan.finished

    expect(planned).toMatchObject({ generatedConfiguration: true, counts: { imports: 1 } })
    expect(plan.artifacts.get('generated-configuration')?.toString()).toContain('resource "terraform_data" "made"')
  })

  test('is applied by another agent from the artifacts of the plan', async () => {
    const server = await startServer()
    const archive = configuration(`${ONE_RESOURCE}\noutput "file" { value = file("note.txt") }`, { 'note.txt': 'hi' })
    const first = await startAgent(server)
    const plan = server.submit({ runId: 'run-a', configuration: archive })
    await plan.finished
    first.stop()
    await first.ended
    await startAgent(server)

    const { artifacts } = plan
    const applied = await server.submit({ kind: 'apply', runId: 'run-a', configuration: archive, artifacts }).finished

    expect(applied).toMatchObject({ status: 'finished' })
    expect(server.api.current()?.outputs).toHaveProperty('file')
  })

  test('is applied in the directory of its plan after a restart of the agent', async () => {
    const server = await startServer()
    const first = await startAgent(server)
    await server.submit({ runId: 'run-a', configuration: configuration(ONE_RESOURCE) }).finished
    first.stop()
    await first.ended
    await startAgent(server, { workDir: first.workDir })

    const applied = await server.submit({ kind: 'apply', runId: 'run-a', configuration: Buffer.of() }).finished

    expect(applied.status).toBe('finished')
  })

  test('has the schemas of a built-in provider that the cached ones lack', async () => {
    const server = await startServer()
    await startAgent(server)
    await server.submit({ configuration: configuration('output "a" { value = 1 }') }).finished

    const plan = server.submit({ configuration: configuration(ONE_RESOURCE) })
    await plan.finished

    const redacted = JSON.parse(plan.artifacts.get('plan-json-redacted')?.toString() ?? '')
    expect(redacted.provider_schemas).toHaveProperty(['terraform.io/builtin/terraform'])
  })

  test('keeps all digits of the numbers in its plan, and redacts sensitive ones', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration(`
      resource "terraform_data" "a" { input = { id = 12345678901234567890, rate = 0.1000000000000000055 } }
      resource "terraform_data" "b" { input = sensitive(98765432109876543210) }
      output "id" { value = 12345678901234567891 }`)

    const plan = server.submit({ configuration: archive })
    await plan.finished

    const redacted = plan.artifacts.get('plan-json-redacted')?.toString()
    expect(redacted).toContain('"input":{"id":12345678901234567890,"rate":0.1000000000000000055}')
    expect(redacted).toContain('"after":12345678901234567891')
    expect(redacted).not.toContain('9876543210')
  })

  test('hides the values of sensitive variables that the configuration does not mark', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration(`
      variable "token" {}
      resource "terraform_data" "a" { input = { token = var.token, other = "a swordfish" } }
      output "tokens" { value = [var.token] }`)
    const variable = { key: 'token', value: 'swordfish', hcl: false, category: 'terraform', sensitive: true } as const

    const plan = server.submit({ configuration: archive, variables: [{ ...variable, level: 'override' }] })
    await plan.finished

    const redacted = JSON.parse(plan.artifacts.get('plan-json-redacted')?.toString() ?? '')
    expect(redacted.resource_changes[0].change).toMatchObject({
      after: { input: { token: '(sensitive value)', other: 'a swordfish' } },
      after_sensitive: { input: { token: true } },
    })
    expect(redacted.output_changes.tokens).toMatchObject({ after: ['(sensitive value)'], after_sensitive: [true] })
    expect(plan.artifacts.get('plan-json')?.toString()).toContain('"swordfish"')
  })

  test('of a plan too large for the event loop is read in a separate thread', async () => {
    const server = await startServer()
    await startAgent(server)
    const large =
      'output "o" { value = join("", [for i in range(1000) : join("", [for j in range(230) : "0123456789"])]) }'

    const plan = server.submit({ structuredOutput: true, configuration: configuration(large) })
    const planned = await plan.finished

    expect(planned).toMatchObject({ status: 'finished', hasChanges: true })
    expect(plan.artifacts.get('plan-json-redacted')?.length).toBeGreaterThan(2_300_000)
  })

  test('whose log exceeds the limit continues without it', async () => {
    const server = await startServer()
    await startAgent(server, { logLimitBytes: 100_000 })
    const archive = configuration(`resource "terraform_data" "a" {
      provisioner "local-exec" { command = "yes 0123456789 | head -n 20000" }
    }`)
    await server.submit({ runId: 'run-a', configuration: archive }).finished

    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: archive })
    const applied = await apply.finished

    expect(applied).toMatchObject({ status: 'finished' })
    expect(apply.log()).toContain('The log is cut off here: it is longer than 100000 bytes')
    expect(apply.log().endsWith('\n')).toBe(true)
  })

  test('with an archive that escapes its directory is rejected', async () => {
    const server = await startServer()
    await startAgent(server)

    const escapes: Parameters<typeof archiveOf>[0][] = [
      { '../out.tf': '' },
      { '/out.tf': '' },
      { 'a/b': { link: '../../out' } },
      { a: { link: '/etc' } },
    ]
    const outcomes = await Promise.all(
      escapes.map((files) => server.submit({ configuration: archiveOf(files) }).finished),
    )

    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'errored', message: expect.stringMatching(/^entry ".*" (has|links)/) })
    }
  })
})
