import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fleet } from './fleet.ts'
import { CLIENTS, durations, load, rates, sampledRow } from './load.ts'
import { bodies, type Body, bodyOf, KB, MB, stateOf } from './state-bodies.ts'
import { type BenchRow, memoryMb, type Target } from './target.ts'

/** Calls one after the other. */
const ALONE = 60

/** States that are uploaded, read, downloaded and listed; `writes.ts` has those created inline. */
export async function stateBenches(target: Target): Promise<BenchRow[]> {
  await using fleet = await Fleet.create(target, 'states')
  const small = bodies(2 * KB, 400)
  const large = bodies(5 * MB, 6)

  const rows: BenchRow[] = []
  const rate = async (name: string, work: () => Promise<unknown>, budget: number) =>
    rows.push(sampledRow({ name, unit: '/s', better: 'more', budget }, await rates(target, CLIENTS, work)))
  const alone = async (name: string, work: () => Promise<unknown>, budget: number) =>
    rows.push(sampledRow({ name, unit: 'ms', better: 'less', budget }, await durations(target, ALONE, work)))

  rows.push(...(await uploads(target, fleet, { name: '2 KB', series: small, budget: 800 })))
  rows.push(...(await uploads(target, fleet, { name: '5 MB', series: large, budget: 30 })))

  for (const [size, series, downloads] of [
    ['2 KB', small, 2500],
    ['5 MB', large, 200],
  ] as const) {
    const workspace = await fleet.createLocked()
    const version = await fleet.post(workspace, first(series).inline)
    await fleet.untilProcessed([version.id])
    const current = `/workspaces/${workspace.id}/current-state-version`
    await rate(`current state version read, ${size}`, () => fleet.read(current), 3000)
    const url = version.attributes['hosted-state-download-url']
    await rate(`state downloaded, ${size}`, () => fleet.download(url), downloads)
    const output = `/state-version-outputs/${version.relationships.outputs.data[0]?.id ?? ''}`
    if (size === '2 KB') await alone('one output by id', () => fleet.send('GET', output), 3)
  }

  for (const count of [20, 1000, 5000]) {
    const workspace = await fleet.createLocked()
    for (let serial = 1; serial <= count; serial += 1)
      await fleet.post(workspace, bodyOf(stateOf(serial, 2 * KB), serial).inline)
    const list = (page: number) =>
      `/state-versions?filter%5Borganization%5D%5Bname%5D=${fleet.organization}` +
      `&filter%5Bworkspace%5D%5Bname%5D=${workspace.name}&page%5Bnumber%5D=${page}`
    await rate(`first page of ${count} state versions`, () => fleet.read(list(1)), 800)
    const last = Math.ceil(count / 20)
    await alone(`page ${last} of ${count} state versions, alone`, () => fleet.read(list(last)), 5)
  }

  const huge = await hugeUpload(target, fleet)
  const memory = await memoryMb(target.pid, { alone: true })
  const less = { better: 'less' } as const
  return [
    ...rows,
    { name: 'state of 50 MB uploaded', value: huge.ms, unit: 'ms', budget: 260, ...less },
    { name: '50 MB hashed and written, and nothing else', value: huge.bareMs, unit: 'ms', ...less },
    { name: 'extra memory while 50 MB are uploaded', value: huge.extraMb, unit: 'MB', budget: 100, ...less },
    { name: 'memory after all of this, server', value: memory, unit: 'MB', ...less },
  ]
}

type Uploads = { name: string; series: readonly Body[]; budget: number }

async function uploads(target: Target, fleet: Fleet, { name, series, budget }: Uploads) {
  const next = await fleet.turns(series, CLIENTS)
  const last = new Map<number, string>()
  return load(target, `state pending, uploaded, finalized, ${name}`, {
    async work(client) {
      const { workspace, body } = await next(client)
      const version = await fleet.post(workspace, body.pending)
      await fleet.upload(version.attributes['hosted-state-upload-url'], body.raw)
      last.set(client, version.id)
    },
    settle: () => fleet.untilProcessed(last.values()),
    budget,
  })
}

/** The upload of one state of 50 MB, next to the least that it takes: hashing those bytes and writing them to the disk. */
async function hugeUpload(target: Target, fleet: Fleet) {
  const raw = stateOf(1, 50 * MB)
  const file = join(target.dataDir, 'bare')
  const workspace = await fleet.createLocked()
  await target.turn?.()
  const bareStarted = performance.now()
  const { pending } = bodyOf(raw, 1, { isInline: false })
  await writeFile(file, raw, { flush: true })
  const bareMs = performance.now() - bareStarted
  await rm(file)

  const version = await fleet.post(workspace, pending)
  // Resets the peak.
  await writeFile(`/proc/${target.pid}/clear_refs`, '5')
  const before = await residentMb(target.pid, 'VmRSS')
  const started = performance.now()
  await fleet.upload(version.attributes['hosted-state-upload-url'], raw)
  const ms = performance.now() - started
  return { ms, bareMs, extraMb: (await residentMb(target.pid, 'VmHWM')) - before }
}

async function residentMb(pid: number, name: 'VmRSS' | 'VmHWM') {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
}

function first<T>(series: readonly T[]): T {
  const [body] = series
  if (body === undefined) throw new Error('a series has no bodies')
  return body
}
