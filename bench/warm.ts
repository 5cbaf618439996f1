import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { median } from './load.ts'
import { CONFIGURATION, configurationArchive, prepareWorkspace, timeRun, type Workspace } from './runs.ts'
import { api, type BenchRow, cpuMs, type Target } from './target.ts'

const PROVIDERS = ['first', 'second', 'third']
const PROVIDER_BYTES = 100 * 1024 * 1024
const RUNS = 7

/**
 * Runs that begin with an init and runs that need none, in turns, in one server each: of a trivial configuration, and of one that
 * requires three large providers of a mirror on the same disk. Init hashes those; nothing needs to start them. The times of the
 * server are of its processes alone, engines included.
 */
export async function warmBenches(warm: Target): Promise<BenchRow[]> {
  const cold = await warm.start({ GROUNDSTATE_WARM_FOLDERS: 'off' })
  const folder = mkdtempSync(join(tmpdir(), 'groundstate-mirror-'))
  try {
    execFileSync('chmod', ['755', folder])
    const large = largeArchive(folder)
    return [
      ...(await compare({ warm, cold }, { name: 'trivial', archive: configurationArchive() })),
      ...(await compare({ warm, cold }, { name: 'three providers of 100 MB', archive: large, mirror: folder })),
    ]
  } finally {
    await cold.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

type Configuration = { name: string; archive: Buffer; mirror?: string }

async function compare(targets: { warm: Target; cold: Target }, { name, archive, mirror }: Configuration) {
  const prepare = async (target: Target) => {
    const workspace = await prepareWorkspace(target, `warm-${name.replaceAll(' ', '-')}`, archive)
    if (mirror !== undefined) await setVariable(target, workspace, { key: 'XDG_DATA_HOME', value: mirror })
    await timeRun(target, workspace)
    return { target, workspace, times: [] as number[], cpu: [] as number[] }
  }
  const sides = { cold: await prepare(targets.cold), warm: await prepare(targets.warm) }
  for (let run = 0; run < RUNS; run += 1) {
    await targets.warm.turn?.()
    for (const side of Object.values(sides)) {
      const before = await cpuMs(side.target.pid)
      side.times.push(await timeRun(side.target, side.workspace))
      side.cpu.push((await cpuMs(side.target.pid)) - before)
    }
  }
  return Object.entries(sides).flatMap(([kind, { times, cpu }]): BenchRow[] => [
    { name: `${kind} run, ${name}`, value: median(times), unit: 'ms', better: 'less' },
    { name: `${kind} run, ${name}: processor`, value: median(cpu), unit: 'ms', better: 'less' },
  ])
}

async function setVariable(target: Target, { id }: Workspace, attributes: { key: string; value: string }) {
  await api(target, 'POST', `/workspaces/${id}/vars`, {
    data: { type: 'vars', attributes: { ...attributes, category: 'env' } },
  })
}

/** A configuration whose test requires the providers, so that init installs them and a plan does without; with its lock file. */
function largeArchive(mirror: string): Buffer {
  for (const name of PROVIDERS) {
    const file = `terraform/plugins/example.com/bench/${name}/1.0.0/linux_amd64/terraform-provider-${name}_v1.0.0`
    mkdirSync(dirname(join(mirror, file)), { recursive: true })
    writeFileSync(join(mirror, file), randomBytes(PROVIDER_BYTES), { mode: 0o755 })
  }
  const needs = PROVIDERS.map((name) => `    ${name} = { source = "example.com/bench/${name}" }\n`).join('')
  const folder = mkdtempSync(join(tmpdir(), 'groundstate-large-'))
  try {
    mkdirSync(join(folder, 'testing'))
    writeFileSync(join(folder, 'main.tf'), CONFIGURATION)
    writeFileSync(join(folder, 'x.tftest.hcl'), 'run "x" {\n  command = plan\n  module { source = "./testing" }\n}\n')
    writeFileSync(join(folder, 'testing/main.tf'), `terraform {\n  required_providers {\n${needs}  }\n}\n`)
    writeFileSync(join(folder, 'cli.tfrc'), '')
    execFileSync('terraform', ['init', '-input=false'], {
      cwd: folder,
      stdio: 'ignore',
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        CHECKPOINT_DISABLE: '1',
        TF_CLI_CONFIG_FILE: join(folder, 'cli.tfrc'),
        XDG_DATA_HOME: mirror,
      },
    })
    const files = ['main.tf', 'x.tftest.hcl', 'testing', '.terraform.lock.hcl']
    execFileSync('tar', ['-czf', join(folder, 'a.tgz'), '-C', folder, ...files])
    return readFileSync(join(folder, 'a.tgz'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
