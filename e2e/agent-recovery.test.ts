import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { agentPool } from './remote-workspaces.ts'
import { latestRun, logOf, untilRunIs } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, terraformDirectory } from './terraform.ts'

const SCRIPT = join(import.meta.dirname, '../agent/bin/groundstate-agent.mjs')

let server: BootedServer
let pool: { id: string; token: string }
const agents = new Set<ChildProcess>()

beforeAll(async () => {
  if (!hasTerraform) return
  server = await bootServer({ GROUNDSTATE_AGENTS: '0', GROUNDSTATE_LEASE: '10000' })
  pool = await agentPool(server, 'elsewhere')
})

async function startAgent(workDir?: string) {
  const directory = workDir ?? (await mkdtemp(join(tmpdir(), 'groundstate-e2e-agent-')))
  if (workDir === undefined) atEnd(() => rm(directory, { recursive: true, force: true }))
  const child = spawn(process.execPath, [SCRIPT], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      GROUNDSTATE_URL: server.url,
      GROUNDSTATE_AGENT_TOKEN: pool.token,
      GROUNDSTATE_WORK_DIR: directory,
      GROUNDSTATE_DRAIN_SECONDS: '1',
    },
    stdio: 'ignore',
  })
  agents.add(child)
  return { child, directory }
}
atEnd(async () => {
  for (const agent of agents) agent.kill('SIGKILL')
})

async function kill(child: ChildProcess) {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function end(child: ChildProcess) {
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** An auto-applied run of this configuration in a workspace of the pool. */
async function startRun(name: string, main: string) {
  const workspace = await server.api('POST', '/organizations/main/workspaces', {
    data: {
      type: 'workspaces',
      attributes: { name, 'execution-mode': 'agent', 'agent-pool-id': pool.id, 'auto-apply': true },
    },
  })
  const directory = await terraformDirectory(server, { 'main.tf': `${cloudBlock(name)}${main}` })
  await directory.ok(['init', '-input=false'])
  const running = directory.start(['apply', '-auto-approve'])
  atEnd(async () => void running.child.kill('SIGKILL'))
  return { workspaceId: workspace.data.id as string, directory, running }
}

async function untilStatus(workspaceId: string, wanted: string) {
  return untilRunIs(server, async () => latestRun(server, workspaceId), wanted)
}

/** The latest state of a workspace, snapshots included; undefined without one. */
async function newestState(name: string): Promise<{ resources: { name: string }[] } | undefined> {
  const list = `/state-versions?filter[organization][name]=main&filter[workspace][name]=${name}&filter[status]=finalized`
  const [newest] = (await server.api('GET', list)).data
  if (newest === undefined) return undefined
  return (await (await fetch(newest.attributes['hosted-state-download-url'])).json()) as {
    resources: { name: string }[]
  }
}

const SLOW = (seconds: number) => `
resource "terraform_data" "quick" { input = "kept" }
resource "terraform_data" "slow" {
  depends_on = [terraform_data.quick]
  provisioner "local-exec" { command = "echo begun; sleep ${seconds}" }
}
`

describe.skipIf(!hasTerraform)('what is cut off', () => {
  test('a server killed and restarted during an apply receives its result and the whole log', async () => {
    const { child } = await startAgent()
    const { workspaceId, running } = await startRun('server-killed', SLOW(8))
    await running.saw('begun')

    await server.stop('SIGKILL')
    await server.restart()

    const run = await untilStatus(workspaceId, 'applied')
    const log = await logOf(server, run.id, 'apply')
    expect(log).toMatch(/begun[^]*Apply complete! Resources: 2 added/)
    const events = await server.api('GET', `/runs/${run.id}/run-events`)
    expect(events.data.map((event: any) => event.attributes.action)).not.toContain('late_result')
    await end(child)
  })

  test('an agent killed during an apply keeps the state and reports the outcome after its restart', async () => {
    const { child, directory } = await startAgent()
    const { workspaceId, running, directory: configuration } = await startRun('agent-killed-in-apply', SLOW(300))
    await running.saw('begun')

    await kill(child)
    const again = await startAgent(directory)

    const run = await untilStatus(workspaceId, 'errored')
    expect(run.attributes['error-message']).toBe(
      'The agent was killed during the apply, and the engine was interrupted. The engine stored the state that it had reached.',
    )
    const events = await server.api('GET', `/runs/${run.id}/run-events`)
    expect(events.data.at(-1).attributes).toMatchObject({
      action: 'errored',
      description: run.attributes['error-message'],
    })
    const workspace = await server.api('GET', `/workspaces/${workspaceId}`)
    expect(workspace.data.attributes.locked).toBe(false)
    await running.done
    expect((await configuration.ok(['state', 'list'])).out).toContain('terraform_data.quick')
    await end(again.child)
  })

  test('the engine of an agent that is killed and never restarted still stores its state', async () => {
    const { child, directory } = await startAgent()
    const { workspaceId, running } = await startRun('agent-killed-for-good', SLOW(300))
    await running.saw('begun')

    await kill(child)

    // The engine stores a state when it is interrupted, and the final one when it exits.
    const names = async () => (await newestState('agent-killed-for-good'))?.resources.map(({ name }) => name)
    await expect.poll(names, { timeout: 60_000 }).toEqual(['quick', 'slow'])
    const again = await startAgent(directory)
    await untilStatus(workspaceId, 'errored')
    await end(again.child)
  })

  test.for(['canceled', 'errored'])(
    'a first apply that is interrupted before it has made anything keeps what is made meanwhile (%s)',
    async (status) => {
      const { child, directory } = await startAgent()
      const name = `interrupted-first-${status}`
      const { workspaceId, running } = await startRun(
        name,
        `resource "terraform_data" "first" {
          provisioner "local-exec" { command = "echo begun; sleep 300" }
        }`,
      )
      await running.saw('begun')
      const { id } = await latestRun(server, workspaceId)

      if (status === 'canceled') await server.api('POST', `/runs/${id}/actions/cancel`, {})
      else await kill(child)
      const last = status === 'canceled' ? child : (await startAgent(directory)).child

      const run = await untilStatus(workspaceId, status)
      expect((await newestState(name))?.resources.map((resource) => resource.name)).toEqual(['first'])
      expect(await logOf(server, run.id, 'apply')).not.toContain('Failed to save state')
      await end(last)
    },
  )

  test('an agent killed during a plan requeues the plan when it restarts', async () => {
    const { child, directory } = await startAgent()
    const { workspaceId } = await startRun(
      'agent-killed-in-plan',
      `locals { slow = [for i in range(1023) : [for j in range(1023) : bcrypt("x", 4) if j < 3]] }
      resource "terraform_data" "x" { input = sha256(jsonencode(local.slow)) }`,
    )
    await untilStatus(workspaceId, 'planning')

    await kill(child)
    const killedAt = Date.now()
    const again = await startAgent(directory)

    await expect
      .poll(
        async () => {
          const run = await latestRun(server, workspaceId)
          const at = run.attributes['status-timestamps']['planning-at']
          return run.attributes.status !== 'plan_queued' && Date.parse(at) > killedAt
        },
        { timeout: 60_000 },
      )
      .toBe(true)
    await untilStatus(workspaceId, 'applied')
    await end(again.child)
  })
})
