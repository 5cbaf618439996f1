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
/** How often one client asks for its run: alone, to know to the ms, and as one of ten, whose questions are work too. */
const POLL_MS = { alone: 5, together: 50 }

/** Remote runs of a trivial configuration, alone and in ten workspaces at once, against the bare engine on this machine. */
export async function runBenches(target: Target): Promise<BenchRow[]> {
  const local = localRun()
  const archive = configurationArchive()

  const single = await prepareWorkspace(target, 'bench-single', archive)
  await timeRun(target, single, POLL_MS.alone)
  const times: number[] = []
  for (let index = 0; index < RUNS; index += 1) times.push(await timeRun(target, single, POLL_MS.alone))
  const remote = percentile(times, 0.5)

  const workspaces = await Promise.all(
    Array.from({ length: WORKSPACES }, async (_, index) => prepareWorkspace(target, `bench-${index}`, archive)),
  )
  await Promise.all(workspaces.map(async (workspace) => timeRun(target, workspace, POLL_MS.together)))
  const end = performance.now() + PARALLEL_MS
  const started = performance.now()
  let runs = 0
  await Promise.all(
    workspaces.map(async (workspace) => {
      while (performance.now() < end) {
        await timeRun(target, workspace, POLL_MS.together)
        runs += 1
      }
    }),
  )
  const perMinute = runs / ((performance.now() - started) / 60_000)

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

async function timeRun(target: Target, workspace: Workspace, pollMs: number) {
  const started = performance.now()
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
  for (;;) {
    const run = await api(target, 'GET', `/runs/${data.id}`)
    const { status } = run.data.attributes
    if (status === 'applied' || status === 'planned_and_finished') return performance.now() - started
    if (['errored', 'canceled', 'discarded'].includes(status)) throw new Error(`the run ended as ${status}`)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
