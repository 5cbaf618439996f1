import { countersOf } from './counters.ts'
import { Fleet } from './fleet.ts'
import { CLIENTS, load } from './load.ts'
import { configurationArchive, prepareWorkspace, timeRun } from './runs.ts'
import { bodies, type Body, KB, MB } from './state-bodies.ts'
import type { BenchRow, Target } from './target.ts'

/** The most frequent writes: rate, processor time, and work of the database. */
export async function writeBenches(target: Target): Promise<BenchRow[]> {
  await using fleet = await Fleet.create(target, 'writes')
  const small = bodies(2 * KB, 400)
  const rows: BenchRow[] = []

  for (const [name, series, budget] of [
    ['2 KB', small, 1500],
    ['200 KB', bodies(200 * KB, 60), 500],
    ['5 MB', bodies(5 * MB, 6), 25],
  ] as const) {
    rows.push(...(await creates(target, fleet, { name: `${name}, 1 client`, series, clients: 1 })))
    rows.push(...(await creates(target, fleet, { name: `${name}, ${CLIENTS} clients`, series, budget })))
  }

  const workspaces = await Promise.all(Array.from({ length: CLIENTS }, async () => fleet.createWorkspace()))
  const lockAndUnlock = async (client: number) => {
    const workspace = workspaces[client]
    if (!workspace) throw new Error('there is no such client')
    await fleet.lock(workspace)
    await fleet.unlock(workspace)
  }
  rows.push(...(await load(target, 'lock and unlock, pairs', { work: lockAndUnlock, budget: 800 })))
  rows.push(...(await load(target, 'workspace created', { work: () => fleet.createWorkspace() })))

  const next = await fleet.turns(small, 1)
  const createState = async () => {
    const { workspace, body } = await next(0)
    await fleet.post(workspace, body.inline)
  }
  const planned = await prepareWorkspace(target, 'counted', configurationArchive())
  await timeRun(target, planned)
  const counters = await countersOf(target, [
    { name: 'state created, 2 KB', times: 100, work: createState },
    { name: 'lock and unlock', times: 100, work: () => lockAndUnlock(0) },
    { name: 'workspace created', times: 100, work: () => fleet.createWorkspace() },
    { name: 'run applied', times: 10, work: () => timeRun(target, planned) },
  ])
  return [...rows, ...counters]
}

type Creates = { name: string; series: readonly Body[]; clients?: number; budget?: number }

async function creates(target: Target, fleet: Fleet, { name, series, clients = CLIENTS, budget }: Creates) {
  const next = await fleet.turns(series, clients)
  const last = new Map<number, string>()
  return load(target, `state created inline, ${name}`, {
    async work(client) {
      const { workspace, body } = await next(client)
      last.set(client, (await fleet.post(workspace, body.inline)).id)
    },
    clients,
    settle: () => fleet.untilProcessed(last.values()),
    budget,
  })
}
