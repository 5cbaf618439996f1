import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  applied,
  configuration,
  describeWithTerraform,
  hooksDirectory,
  startAgent,
  startServer,
} from '../testing/agent-fixture.ts'

describeWithTerraform('hooks', () => {
  test('run before and after a plan and an apply, in the directory and environment of the engine', async () => {
    const server = await startServer()
    const say = 'echo "$GROUNDSTATE_HOOK of $GROUNDSTATE_RUN_ID in $(ls main.tf) with $MINE"'
    const hooks = await hooksDirectory({ 'pre-plan': say, 'post-plan': say, 'pre-apply': say, 'post-apply': say })
    await startAgent(server, { hooks })
    const archive = configuration('output "one" { value = 1 }')
    const variables = [
      {
        key: 'MINE',
        value: 'mine',
        hcl: false,
        category: 'env' as const,
        sensitive: false,
        level: 'override' as const,
      },
    ]
    const plan = server.submit({ configuration: archive, variables })
    await plan.finished

    const apply = server.submit({ kind: 'apply', runId: plan.runId, configuration: archive, variables })
    await apply.finished

    const { runId } = plan
    expect(plan.log()).toMatch(
      new RegExp(`pre-plan of ${runId} in main.tf with mine[^]*post-plan of ${runId} in main.tf with mine`),
    )
    expect(apply.log()).toMatch(
      new RegExp(`pre-apply of ${runId} in main.tf with mine[^]*post-apply of ${runId} in main.tf with mine`),
    )
  })

  test('are left out for the configuration of a fork, since they may have credentials', async () => {
    const server = await startServer()
    await startAgent(server, { hooks: await hooksDirectory({ 'pre-plan': 'echo said', 'post-plan': 'echo said' }) })

    const plan = server.submit({ configuration: configuration('output "one" { value = 1 }'), withholdsSecrets: true })

    expect(await plan.finished).toMatchObject({ status: 'finished' })
    expect(plan.log()).toContain('The hook pre-plan is left out: the configuration comes from a fork.')
    expect(plan.log()).not.toContain('said')
  })

  test.each(['pre-plan', 'post-plan'])('that exit with an error fail the phase: %s', async (name) => {
    const server = await startServer()
    await startAgent(server, { hooks: await hooksDirectory({ [name]: 'echo no, thanks; exit 7' }) })

    const plan = server.submit({ configuration: configuration('output "one" { value = 1 }') })

    expect(await plan.finished).toMatchObject({ status: 'errored', message: `the hook ${name} ended with exit code 7` })
    expect(plan.log()).toMatch(new RegExp(`no, thanks[^]*Error: the hook ${name} ended with exit code 7`))
  })

  test('that fail after an apply only log a warning', async () => {
    const server = await startServer()
    await startAgent(server, { hooks: await hooksDirectory({ 'post-apply': 'exit 1' }) })

    const { apply, outcome } = await applied(server, configuration('output "one" { value = 1 }'))

    expect(outcome).toMatchObject({ status: 'finished' })
    expect(apply.log()).toContain('Warning: the hook post-apply ended with exit code 1. The apply itself succeeded.')
  })

  test('that are not executable fail with a message', async () => {
    const server = await startServer()
    const hooks = await hooksDirectory({ 'pre-plan': '' })
    await chmod(join(hooks, 'pre-plan'), 0o644)
    await startAgent(server, { hooks })

    const plan = server.submit({ configuration: configuration('') })

    expect(await plan.finished).toMatchObject({
      status: 'errored',
      message: `the hook pre-plan is not executable: ${hooks}/pre-plan`,
    })
  })

  test('of a missing directory prevent the start of the agent', async () => {
    const server = await startServer()

    const { ended } = await startAgent(server, { hooks: '/nowhere/hooks' })

    await expect(ended).rejects.toThrow('GROUNDSTATE_HOOKS /nowhere/hooks: there is no such file')
  })
})
