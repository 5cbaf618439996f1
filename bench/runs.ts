import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { api, type BenchRow, percentile, type Target } from './target.ts'

const CONFIGURATION =
  'resource "terraform_data" "x" {\n  input = timestamp()\n}\noutput "x" {\n  value = terraform_data.x.output\n}\n'
const RUNS = 15
const WORKSPACES = 10
const PARALLEL_MS = 20_000
/** How often a client asks for its run. Few questions, for they are work too; when it was applied is in the answer. */
const POLL_MS = 200
/** Runs of a workspace that are there at once: one runs, the others wait for it, so that it never waits for its client. */
const QUEUE = 2

/** Remote runs of a trivial configuration, alone and in ten workspaces at once, against the bare engine on this machine. */
export async function runBenches(target: Target): Promise<BenchRow[]> {
  const local = localRun()
  const archive = configurationArchive()

  const single = await prepareWorkspace(target, 'bench-single', archive)
  await timeRun(target, single)
  const times: number[] = []
  for (let index = 0; index < RUNS; index += 1) times.push(await timeRun(target, single))
  const remote = percentile(times, 0.5)

  const workspaces = await Promise.all(
    Array.from({ length: WORKSPACES }, async (_, index) => prepareWorkspace(target, `bench-${index}`, archive)),
  )
  await Promise.all(workspaces.map(async (workspace) => timeRun(target, workspace)))
  const started = Date.now()
  const applied = (await Promise.all(workspaces.map(async (workspace) => keepRunning(target, workspace)))).flat()
  const inWindow = applied.filter((at) => at < started + PARALLEL_MS).length
  const perMinute = inWindow / (PARALLEL_MS / 60_000)

  return [
    { name: 'local init, plan, show and apply', value: local, unit: 'ms', better: 'less' },
    { name: 'remote run, POST to applied, median', value: remote, unit: 'ms', better: 'less' },
    { name: 'added by the server to a run', value: remote - local, unit: 'ms', better: 'less', budget: 150 },
    { name: 'runs a minute, ten workspaces at once', value: perMinute, unit: '/min', better: 'more', budget: 420 },
  ]
}

/** The median of what the bare engine takes on a warm machine, in ms. */
function localRun() {
  const folder = mkdtempSync(join(tmpdir(), 'groundstate-local-'))
  writeFileSync(join(folder, 'main.tf'), CONFIGURATION)
  writeFileSync(join(folder, 'rc'), '')
  const terraform = (...args: string[]) =>
    execFileSync('terraform', args, {
      cwd: folder,
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], HOME: folder, CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: join(folder, 'rc') },
    })
  const times: number[] = []
  for (let index = 0; index < 7; index += 1) {
    rmSync(join(folder, '.terraform'), { recursive: true, force: true })
    const started = performance.now()
    terraform('init', '-input=false')
    terraform('plan', '-out=plan', '-input=false')
    terraform('show', '-json', 'plan')
    terraform('apply', '-input=false', 'plan')
    times.push(performance.now() - started)
  }
  rmSync(folder, { recursive: true, force: true })
  return percentile(times, 0.5)
}

export function configurationArchive() {
  const folder = mkdtempSync(join(tmpdir(), 'groundstate-archive-'))
  writeFileSync(join(folder, 'main.tf'), CONFIGURATION)
  execFileSync('tar', ['-czf', join(folder, 'a.tgz'), '-C', folder, 'main.tf'])
  const archive = readFileSync(join(folder, 'a.tgz'))
  rmSync(folder, { recursive: true, force: true })
  return archive
}

type Workspace = { id: string; configurationId: string }

export async function prepareWorkspace(target: Target, name: string, archive: Buffer): Promise<Workspace> {
  const { data } = await api(target, 'POST', '/organizations/main/workspaces', {
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
  if (!upload.ok) throw new Error(`the upload answered ${upload.status}`)
  return { id: data.id, configurationId: configuration.data.id }
}

/** How long one run takes from its POST to applied, in ms, by the clock that client and server share. */
async function timeRun(target: Target, workspace: Workspace) {
  const started = Date.now()
  return (await untilApplied(target, await startRun(target, workspace))) - started
}

/** Keeps runs queued in a workspace for the time of the measurement; answers when each was applied. */
async function keepRunning(target: Target, workspace: Workspace) {
  const end = Date.now() + PARALLEL_MS
  const queued: string[] = []
  const applied: number[] = []
  for (;;) {
    while (queued.length < QUEUE && Date.now() < end) queued.push(await startRun(target, workspace))
    const id = queued.shift()
    if (id === undefined) return applied
    applied.push(await untilApplied(target, id))
  }
}

async function startRun(target: Target, workspace: Workspace) {
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

async function untilApplied(target: Target, id: string) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    const { attributes } = (await api(target, 'GET', `/runs/${id}`)).data
    const at = attributes['status-timestamps']['applied-at']
    if (at !== undefined) return Date.parse(at)
    if (['errored', 'canceled', 'discarded', 'planned_and_finished'].includes(attributes.status))
      throw new Error(`the run ended as ${attributes.status}`)
  }
}
