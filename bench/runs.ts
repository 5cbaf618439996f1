import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isEnded, type RunStatus } from '@groundstate/contract/run-status'
import { median, sampledRow } from './load.ts'
import { api, type BenchRow, cpuParts, type Target } from './target.ts'

const CONFIGURATION =
  'resource "terraform_data" "x" {\n  input = timestamp()\n}\noutput "x" {\n  value = terraform_data.x.output\n}\n'
const RUNS = 30
const WARM_RUNS = 5
const WORKSPACES = 10
const PARALLEL_MS = 30_000
/** When two trees are compared. Even, so that both start as many slices after a pause, in which a server drops its caches. */
const SLICES = 4
/** Warm-up: a minute after its start, a server takes a third less time for a run. */
const WARM_MS = 20_000
/** Long, since polling is load as well; the response has the time of the apply. */
const POLL_MS = 500
/** Runs per workspace: one runs while the others wait, so that the workspace never waits for its client. */
const QUEUE = 2

/** Remote runs of a trivial configuration, alone and in ten workspaces at once, against the bare engine on this machine. */
export async function runBenches(target: Target): Promise<BenchRow[]> {
  const archive = configurationArchive()
  return [...(await runsAlone(target, archive)), ...(await runsAtOnce(target, archive))]
}

/** Remote and local runs alternate, so that noise of the machine affects both. */
async function runsAlone(target: Target, archive: Buffer): Promise<BenchRow[]> {
  const workspace = await prepareWorkspace(target, 'bench-single', archive)
  using directory = bareDirectory()
  const remote: number[] = []
  const local: number[] = []
  for (let index = 0; index < WARM_RUNS; index += 1) await timeRun(target, workspace)
  const cpu = cpuCounter(target)
  for (let index = 0; index < RUNS; index += 1) {
    await target.turn?.()
    await cpu.start()
    remote.push(await timeRun(target, workspace))
    directory.forget()
    local.push((await directory.run('init')) + (await directory.run('plan')) + (await directory.run('apply')))
    await cpu.stop()
  }
  const less = { unit: 'ms', better: 'less' } as const
  return [
    sampledRow({ name: 'local init, plan and apply, median', ...less }, local),
    sampledRow({ name: 'remote run, POST to applied, median', ...less }, remote),
    { name: 'added by the server to a local run', value: median(remote) - median(local), ...less, budget: 85 },
    { name: 'run alone: server and database', value: (cpu.server + cpu.database) / RUNS, ...less, budget: 60 },
    { name: 'run alone: database', value: cpu.database / RUNS, ...less },
  ]
}

async function runsAtOnce(target: Target, archive: Buffer): Promise<BenchRow[]> {
  const workspaces = await Promise.all(
    Array.from({ length: WORKSPACES }, async (_, index) => prepareWorkspace(target, `bench-${index}`, archive)),
  )
  const keepAllRunning = async (forMs: number) =>
    (await Promise.all(workspaces.map(async (workspace) => keepRunning(target, workspace, forMs)))).flat()
  await target.turn?.()
  await keepAllRunning(WARM_MS)
  // Not when two trees are compared, since they would measure it at different times.
  const bare = target.turn ? undefined : await bareLoops()
  const slices = target.turn ? SLICES : 1
  const cpu = cpuCounter(target)
  let applied = 0
  let inWindow = 0
  for (let slice = 0; slice < slices; slice += 1) {
    await target.turn?.()
    await cpu.start()
    const end = Date.now() + PARALLEL_MS / slices
    const times = await keepAllRunning(PARALLEL_MS / slices)
    await cpu.stop()
    applied += times.length
    inWindow += times.filter((at) => at < end).length
  }
  const perMinute = inWindow / (PARALLEL_MS / 60_000)
  const ours = (cpu.server + cpu.database) / applied
  const less = { unit: 'ms', better: 'less' } as const
  const more = { unit: '/min', better: 'more' } as const
  return [
    { name: 'runs a minute, ten workspaces at once', value: perMinute, ...more },
    ...(bare === undefined ? [] : againstBare(perMinute, bare)),
    { name: 'processor time of a run', value: ours + cpu.engines / applied, ...less, budget: 200 },
    { name: 'processor time of a run: server and database', value: ours, ...less, budget: 60 },
    { name: 'processor time of a run: database', value: cpu.database / applied, ...less },
  ]
}

/** Sums up the processor time between `start` and `stop`, in ms, without what a server does while another tree has its turn. */
function cpuCounter(target: Target) {
  const spent = { server: 0, database: 0, engines: 0 }
  const add = async (sign: 1 | -1) => {
    const parts = await cpuParts(target.pid)
    for (const part of ['server', 'database', 'engines'] as const) spent[part] += sign * parts[part]
  }
  return Object.assign(spent, { start: () => add(-1), stop: () => add(1) })
}

function againstBare(perMinute: number, bare: number): BenchRow[] {
  return [
    { name: 'runs a minute, two bare loops', value: bare, unit: '/min', better: 'more' },
    { name: 'ten workspaces against the bare loops', value: perMinute / bare, unit: '×', better: 'more', budget: 0.85 },
  ]
}

/** The commands of a run. */
const COMMANDS = {
  init: ['init', '-input=false'],
  plan: ['plan', '-out=plan', '-input=false'],
  show: ['show', '-json', 'plan'],
  apply: ['apply', '-input=false', 'plan'],
} as const

type Command = keyof typeof COMMANDS

function bareDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'groundstate-local-'))
  writeFileSync(join(directory, 'main.tf'), CONFIGURATION)
  writeFileSync(join(directory, 'rc'), '')
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    CHECKPOINT_DISABLE: '1',
    TF_CLI_CONFIG_FILE: join(directory, 'rc'),
  }
  return {
    async run(command: Command) {
      const started = performance.now()
      await promisify(execFile)('terraform', COMMANDS[command], { cwd: directory, env })
      return performance.now() - started
    },
    forget: () => rmSync(join(directory, '.terraform'), { recursive: true, force: true }),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** How many times per minute two concurrent loops of the bare engine execute all commands of a run. */
async function bareLoops() {
  const end = performance.now() + PARALLEL_MS / 2
  const started = performance.now()
  const loop = async () => {
    using directory = bareDirectory()
    let count = 0
    for (; performance.now() < end; count += 1) {
      directory.forget()
      for (const command of ['init', 'plan', 'show', 'apply'] as const) await directory.run(command)
    }
    return count
  }
  const counts = await Promise.all([loop(), loop()])
  return counts.reduce((total, count) => total + count, 0) / ((performance.now() - started) / 60_000)
}

export function configurationArchive() {
  const directory = mkdtempSync(join(tmpdir(), 'groundstate-archive-'))
  writeFileSync(join(directory, 'main.tf'), CONFIGURATION)
  execFileSync('tar', ['-czf', join(directory, 'a.tgz'), '-C', directory, 'main.tf'])
  const archive = readFileSync(join(directory, 'a.tgz'))
  rmSync(directory, { recursive: true, force: true })
  return archive
}

type Workspace = { id: string; configurationId: string }

export async function prepareWorkspace(
  target: Target,
  name: string,
  archive: Buffer,
  organization = 'main',
): Promise<Workspace> {
  const { data } = await api(target, 'POST', `/organizations/${organization}/workspaces`, {
    data: { type: 'workspaces', attributes: { name, 'auto-apply': true } },
  })
  const configuration = await api(target, 'POST', `/workspaces/${data.id}/configuration-versions`, {
    data: { type: 'configuration-versions', attributes: { 'auto-queue-runs': false } },
  })
  const upload = await fetch(configuration.data.attributes['upload-url'], {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: new Uint8Array(archive),
  })
  if (!upload.ok) throw new Error(`the upload failed with status ${upload.status}`)
  return { id: data.id, configurationId: configuration.data.id }
}

/** Duration of a run from its POST to applied, in ms. */
export async function timeRun(target: Target, workspace: Workspace) {
  const started = Date.now()
  return (await untilApplied(target, await startRun(target, workspace))) - started
}

/** Keeps runs queued in a workspace for `forMs`; returns when each was applied. */
async function keepRunning(target: Target, workspace: Workspace, forMs: number) {
  const end = Date.now() + forMs
  const queued: string[] = []
  const applied: number[] = []
  for (;;) {
    while (queued.length < QUEUE && Date.now() < end) queued.push(await startRun(target, workspace))
    const id = queued.shift()
    if (id === undefined) return applied
    applied.push(await untilApplied(target, id))
  }
}

export async function startRun(target: Target, workspace: Workspace) {
  const { data } = await api(target, 'POST', '/runs', {
    data: {
      type: 'runs',
      attributes: { 'auto-apply': true },
      relationships: {
        workspace: { data: { type: 'workspaces', id: workspace.id } },
        'configuration-version': { data: { type: 'configuration-versions', id: workspace.configurationId } },
      },
    },
  })
  return data.id
}

export async function untilApplied(target: Target, id: string) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    const { attributes } = (await api(target, 'GET', `/runs/${id}`)).data
    const at = attributes['status-timestamps']['applied-at']
    if (at !== undefined) return Date.parse(at)
    if (isEnded(attributes.status as RunStatus)) throw new Error(`the run ended as ${attributes.status}`)
  }
}
