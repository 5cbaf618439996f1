import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { watch } from '../server/src/features/site/changes/testing/watch.ts'
import { startPostgres } from '../server/src/postgres/postgres.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { bootAgent } from './agent.ts'
import { unpackEarlierVersion } from './earlier-version.ts'
import { agentPool, remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, until, untilRunIs } from './run-progress.ts'
import { ADMIN_TOKEN, type BootedServer, bootServer } from './server.ts'
import { hasTerraform } from './terraform.ts'

const earlier = hasTerraform ? unpackEarlierVersion() : undefined
const CONFIGURATION = 'resource "terraform_data" "one" { input = 1 }\noutput "one" { value = 1 }'

async function newSite() {
  const directory = await mkdtemp(join(tmpdir(), 'gs-rolling-'))
  atEnd(() => rm(directory, { recursive: true, force: true }))
  // Runs execute as dedicated users.
  await chmod(directory, 0o755)
  const log = { info() {}, warn() {} }
  const postgres = await startPostgres({ dataDir: join(directory, 'database'), log, fsync: false })
  atEnd(() => postgres[Symbol.asyncDispose]())
  const settings = {
    GROUNDSTATE_DATABASE_URL: postgres.url,
    GROUNDSTATE_DATA_DIR: join(directory, 'data'),
    GROUNDSTATE_AGENTS: '0',
  }
  return { directory, settings }
}

async function serversSeenBy(server: BootedServer) {
  const { data } = await server.api('GET', '/admin/health')
  return data.attributes.servers as { version: string | null }[]
}

async function watchMain({ url }: BootedServer) {
  return watch(url, 'main', { token: ADMIN_TOKEN })
}

function hasSeen({ changes }: Awaited<ReturnType<typeof watch>>, run: string) {
  return changes.some(({ id }) => id === run)
}

async function hasOutputs(server: BootedServer, workspace: string) {
  const { data } = await server.api('GET', `/workspaces/${workspace}/current-state-version?include=outputs`)
  return data.attributes['resources-processed'] === true
}

test.skipIf(!earlier)(
  'servers of the earlier version and of this one share a database',
  { timeout: 300_000 },
  async () => {
    if (!earlier) return
    process.stdout.write(`the earlier version is ${earlier.commit}\n`)
    const { directory, settings } = await newSite()
    const old = await bootServer(settings, { program: earlier.server })
    const pools = { old: await agentPool(old, 'at-old'), new: await agentPool(old, 'at-new') }
    const fresh = await bootServer(settings)
    const streams = { old: await watchMain(old), new: await watchMain(fresh) }
    for (const [name, { url }] of Object.entries({ old, new: fresh })) {
      const { token } = pools[name as 'old' | 'new']
      bootAgent({ url, token, name, workDir: join(directory, `agent-${name}`), program: earlier.agent })
    }
    const workspace = async (server: BootedServer, name: string, pool: { id: string }) =>
      remoteWorkspace(server, {
        name,
        configuration: CONFIGURATION,
        attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id },
      })

    // Each run is created at one server and executed through the other.
    const created = {
      old: await workspace(old, 'from-old', pools.new),
      new: await workspace(fresh, 'from-new', pools.old),
    }
    const runs = { old: await startRun(old, created.old), new: await startRun(fresh, created.new) }
    await Promise.all([
      untilRunIs(fresh, async () => readRun(fresh, runs.old), 'applied'),
      untilRunIs(old, async () => readRun(old, runs.new), 'applied'),
    ])
    // A background job of either server has read the outputs.
    await until(async () => hasOutputs(old, created.new.id))
    await until(async () => hasOutputs(fresh, created.old.id))
    await until(async () => hasSeen(streams.old, runs.new) && hasSeen(streams.new, runs.old))

    if (earlier.starts === 'at any time') {
      await old.stop()
      await old.restart()
      await until(async () => (await serversSeenBy(fresh)).length === 2)
    }
    const code = await old.stop()
    const last = await startRun(fresh, created.old)
    await untilRunIs(fresh, async () => readRun(fresh, last), 'planned_and_finished')

    expect(code).toBe(0)
    const { data: failed } = await fresh.api('GET', '/admin/failed-jobs')
    expect(failed).toEqual([])
    expect(await serversSeenBy(fresh)).toEqual([expect.objectContaining({ version: expect.any(String) })])
    for (const server of [old, fresh]) expect(server.output()).not.toMatch(/"level":(?:50|60)/)
  },
)
