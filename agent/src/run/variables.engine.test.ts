import { stripVTControlCharacters } from 'node:util'
import type { AgentJob } from '@groundstate/contract/agent'
import { expect, onTestFinished, test } from 'vitest'
import { configuration, describeWithTerraform, startAgent, startServer } from '../testing/agent-fixture.ts'

type Variable = AgentJob['variables'][number]

function variable(key: string, value: string, rest: Partial<Variable> = {}): Variable {
  return { key, value, hcl: false, category: 'terraform', sensitive: false, level: 'override', ...rest }
}

/** Plans a configuration and returns the planned outputs. */
async function planOutputs(main: string, variables: Variable[], files: Record<string, string> = {}) {
  const server = await startServer()
  await startAgent(server)
  const plan = server.submit({ configuration: configuration(main, files), variables })
  const outcome = await plan.finished
  const json = JSON.parse(plan.artifacts.get('plan-json')?.toString() ?? '{}')
  const outputs: Record<string, unknown> = {}
  for (const [name, change] of Object.entries<{ after: unknown }>(json.output_changes ?? {}))
    outputs[name] = change.after
  return { outputs, outcome, log: plan.log() }
}

describeWithTerraform('variables', () => {
  test('a literal reaches the engine unchanged', async () => {
    const value = 'a "b" ${var.c} %{ if true } \\n \n$${d} EOT é\t'

    const { outputs } = await planOutputs('variable "v" {}\noutput "o" { value = var.v }', [variable('v', value)])

    expect(outputs['o']).toBe(value)
  })

  test('an HCL value is an expression', async () => {
    const main = 'variable "v" { type = map(list(number)) }\nvariable "w" {}\noutput "o" { value = [var.v, var.w] }'
    const variables = [variable('v', '{ a = [1, 2] }', { hcl: true }), variable('w', '<<E\ntext\nE', { hcl: true })]

    const { outputs } = await planOutputs(main, variables)

    expect(outputs['o']).toEqual([{ a: [1, 2] }, 'text\n'])
  })

  test('an HCL value cannot define another variable as well', async () => {
    const main = 'variable "a" {}\nvariable "b" {}\noutput "o" { value = [var.a, var.b] }'
    const sly = variable('a', '1\nb = "sly"', { hcl: true })

    const literal = await planOutputs(main, [sly, variable('b', 'enforced')])
    const expression = await planOutputs(main, [sly, variable('b', '"enforced"', { hcl: true })])

    expect(literal.outputs['o']).toEqual([1, 'enforced'])
    expect(expression.outcome.status).toBe('errored')
  })

  test('a literal is converted to the type that is declared', async () => {
    const main =
      'variable "n" { type = number }\nvariable "b" { type = bool }\noutput "o" { value = [var.n + 1, !var.b] }'

    const { outputs } = await planOutputs(main, [variable('n', '41'), variable('b', 'true')])

    expect(outputs['o']).toEqual([42, false])
  })

  test('a value in the configuration is overridden', async () => {
    const main = 'variable "a" {}\nvariable "b" {}\nvariable "c" {}\noutput "o" { value = [var.a, var.b, var.c] }'
    const files = { 'terraform.tfvars': 'a = "file"\nc = "file"', 'z.auto.tfvars': 'b = "file"' }
    const variables = [variable('a', 'given'), variable('b', '"given"', { hcl: true })]

    const { outputs } = await planOutputs(main, variables, files)

    expect(outputs['o']).toEqual(['given', 'given', 'file'])
  })

  test('an undeclared variable is ignored without a warning', async () => {
    const { outcome, log } = await planOutputs('output "o" { value = 1 }', [
      variable('undeclared', 'x'),
      variable('other', '[1]', { hcl: true }),
    ])

    expect(outcome.status).toBe('finished')
    expect(log).not.toMatch(/undeclared|Warning/)
  })

  test('an ephemeral variable is passed to the apply again', async () => {
    const server = await startServer()
    await startAgent(server)
    const main = `variable "e" {
      type = string
      ephemeral = true
    }
    variable "v" {}
    resource "terraform_data" "a" {
      input = var.v
      provisioner "local-exec" {
        command = "test $E = secret && echo same"
        environment = { E = var.e }
      }
    }`
    const job = {
      runId: 'a',
      configuration: configuration(main),
      variables: [variable('e', 'secret'), variable('v', 'x')],
    }
    await server.submit(job).finished

    const applied = await server.submit({ ...job, kind: 'apply' }).finished

    expect(applied.status).toBe('finished')
  })
})

describeWithTerraform('the environment', () => {
  const printEnvironment = configuration(`resource "terraform_data" "a" {
    provisioner "local-exec" { command = "env" }
  }
  variable "TFC_RUN_ID" {}
  output "run" { value = var.TFC_RUN_ID }`)

  async function printed(variables: Variable[]) {
    const server = await startServer()
    await startAgent(server)
    const plan = server.submit({ runId: 'run-a', configuration: printEnvironment, variables })
    await plan.finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: printEnvironment, variables })
    await apply.finished
    const names = [...stripVTControlCharacters(apply.log()).matchAll(/\(local-exec\): (\w+)=(.*)/g)]
    return { plan, environment: Object.fromEntries(names.map(([, name, value]) => [name, value])) }
  }

  test('inherits only the network variables of the agent', async () => {
    process.env['AGENT_SECRET'] = 'hidden'
    onTestFinished(() => void delete process.env['AGENT_SECRET'])

    const { environment } = await printed([])

    const unexpected = Object.keys(environment).filter(
      (name) => !/^(TF|TFC|TFE)_|^(CHECKPOINT_DISABLE|PWD|OLDPWD|SHLVL|_)$/.test(name),
    )
    expect(environment).not.toHaveProperty('AGENT_SECRET')
    expect(environment).toMatchObject({
      TFC_RUN_ID: 'run-a',
      TFC_WORKSPACE_NAME: 'net',
      TFC_WORKSPACE_SLUG: 'acme/net',
    })
    expect(environment['HOME']).not.toBe(process.env['HOME'])
    expect(unexpected.toSorted()).toEqual(
      ['HOME', 'PATH', 'TMPDIR', 'LANG', 'LC_ALL', 'TZ', 'SSL_CERT_FILE', 'SSL_CERT_DIR']
        .filter((name) => ['HOME', 'TMPDIR'].includes(name) || process.env[name] !== undefined)
        .toSorted(),
    )
  })

  test("has the workspace's env variables, but not those that would detach the run from its server", async () => {
    const env = { category: 'env' } as const

    const { plan, environment } = await printed([
      variable('CLOUD_KEY', 'k$"y', { ...env, sensitive: true }),
      variable('TF_CLI_ARGS_plan', '-compact-warnings', env),
      variable('TF_FORCE_LOCAL_BACKEND', '', env),
      variable('TF_CLI_CONFIG_FILE', '/tmp/x', env),
    ])

    expect(environment).toMatchObject({
      CLOUD_KEY: 'k$"y',
      TF_FORCE_LOCAL_BACKEND: '1',
      TF_CLI_ARGS_plan: '-compact-warnings',
    })
    expect(environment['TF_CLI_CONFIG_FILE']).not.toBe('/tmp/x')
    expect(plan.log()).toContain('TF_FORCE_LOCAL_BACKEND is ignored')
    expect(plan.log()).toContain('TF_CLI_CONFIG_FILE is ignored')
  })
})
