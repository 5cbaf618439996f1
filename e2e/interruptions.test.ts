import { existsSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { latestRun, untilRunIs } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, type Directory, hasTerraform, terraformDirectory } from './terraform.ts'

let server: BootedServer
beforeAll(async () => {
  if (hasTerraform) server = await bootServer({ GROUNDSTATE_CANCEL_GRACE: '2000' })
})

async function readWorkspace(name: string) {
  return (await server.api('GET', `/organizations/main/workspaces/${name}`)).data
}

async function runOf(name: string) {
  return latestRun(server, (await readWorkspace(name)).id)
}

/** Reads the workspace after its run, so that the workspace must already match the run's status. */
async function untilStatus(name: string, wanted: string) {
  const run = await untilRunIs(server, async () => runOf(name), wanted)
  return { run, workspace: await readWorkspace(name) }
}

/** Whether the process exits within 20 s. */
async function untilEnded(pid: number) {
  for (const end = Date.now() + 20_000; existsSync(`/proc/${pid}`) && Date.now() < end;)
    await new Promise((resolve) => setTimeout(resolve, 100))
  return !existsSync(`/proc/${pid}`)
}

/** Applies one resource quickly, then a slow one that handles interrupts. */
async function slowApply(name: string, command = 'sleep 60'): Promise<Directory> {
  const directory = await terraformDirectory(server, {
    'main.tf': `${cloudBlock(name)}
resource "terraform_data" "quick" { input = "kept" }
resource "terraform_data" "slow" {
  depends_on = [terraform_data.quick]
  provisioner "local-exec" { command = "${command}" }
}
`,
  })
  await directory.ok(['init', '-input=false'])
  return directory
}

/** A plan that computes for seconds, since there is no provider with a slow data source. */
async function slowPlan(name: string): Promise<Directory> {
  const directory = await terraformDirectory(server, {
    'main.tf': `${cloudBlock(name)}
locals { slow = [for i in range(1023) : [for j in range(1023) : bcrypt("x", 4) if j < 5]] }
resource "terraform_data" "x" { input = sha256(jsonencode(local.slow)) }
`,
  })
  await directory.ok(['init', '-input=false'])
  return directory
}

describe.skipIf(!hasTerraform)('interruptions', () => {
  test('Ctrl-C in an apply cancels the run, keeps the state and frees the workspace', async () => {
    const directory = await slowApply('interrupt-apply')
    const running = directory.start(['apply', '-auto-approve'])
    await running.saw('local-exec')

    running.child.kill('SIGINT')
    await running.done

    const { workspace } = await untilStatus('interrupt-apply', 'canceled')
    expect(workspace.attributes.locked).toBe(false)
    expect((await directory.ok(['state', 'list'])).out).toContain('terraform_data.quick')
  })

  test('Ctrl-C in the plan phase of an apply cancels the run', async () => {
    const directory = await slowPlan('interrupt-plan')
    const running = directory.start(['apply', '-auto-approve'])
    await untilStatus('interrupt-plan', 'planning')

    running.child.kill('SIGINT')
    await running.done

    expect((await untilStatus('interrupt-plan', 'canceled')).workspace.attributes.locked).toBe(false)
  })

  test('Ctrl-C in a plan only ends the stream', async () => {
    const directory = await slowPlan('interrupt-stream')
    const running = directory.start(['plan'])
    await untilStatus('interrupt-stream', 'planning')

    running.child.kill('SIGINT')

    expect((await running.done).code).toBe(1)
    const { run } = await untilStatus('interrupt-stream', 'planned_and_finished')
    expect(run.attributes['plan-only']).toBe(true)
  })

  test('cancel kills an engine whose provisioner ignores interrupts; force-cancel is available only after the grace period', async () => {
    const directory = await slowApply('force-cancel', "trap '' INT TERM; sleep 300")
    const running = directory.start(['apply', '-auto-approve'])
    await running.saw('local-exec')
    const run = await runOf('force-cancel')

    const early = await server.api('POST', `/runs/${run.id}/actions/force-cancel`, {}, { expect: 409 })
    await server.api('POST', `/runs/${run.id}/actions/cancel`, {})

    expect(early.errors[0].detail).toContain('cancel')
    const { workspace } = await untilStatus('force-cancel', 'canceled')
    expect(workspace.attributes.locked).toBe(false)
    await running.done
  })

  test('deleting a workspace during an apply leaves no engine running', async () => {
    const directory = await slowApply('deleted', 'echo shell $$; exec sleep 300')
    const running = directory.start(['apply', '-auto-approve'])
    const shell = Number(/\d+/.exec(await running.saw(/shell \d+/))?.[0])

    await server.api('DELETE', '/organizations/main/workspaces/deleted')

    expect(await untilEnded(shell)).toBe(true)
    running.child.kill('SIGKILL')
    await running.done
  })

  test('after a server is killed during an apply, the workspace is unlocked, the run errored and the agent available', async () => {
    const directory = await slowApply('killed')
    const running = directory.start(['apply', '-auto-approve'])
    await running.saw('local-exec')

    await server.stop('SIGKILL')
    await server.restart()

    const { run, workspace } = await untilStatus('killed', 'errored')
    expect(run.attributes.status).toBe('errored')
    expect(workspace.attributes.locked).toBe(false)
    running.child.kill('SIGKILL')
    await running.done
    expect((await directory.ok(['plan'])).all).toMatch(/Plan: \d to add/)
  })
})
