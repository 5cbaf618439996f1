import { createHash } from 'node:crypto'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { listAll, type RemoteWorkspace } from './remote-workspaces.ts'
import { ENDED, logOf } from './run-progress.ts'
import { ADMIN_TOKEN, type BootedServer } from './server.ts'

const ETX = '\u0003'

type Found = { id: string; attributes: any; relationships: any }
export type WorkspaceHistory = { workspace: RemoteWorkspace; runs: Found[]; versions: Found[]; resource: Found }

/** The API's view of a workspace and its history, with runs and states from oldest to newest. */
export async function historyOf(server: BootedServer, workspace: RemoteWorkspace): Promise<WorkspaceHistory> {
  const filter = `filter%5Borganization%5D%5Bname%5D=main&filter%5Bworkspace%5D%5Bname%5D=${workspace.name}`
  const [runs, versions, { data }] = await Promise.all([
    listAll(server, `/workspaces/${workspace.id}/runs`),
    listAll(server, `/state-versions?${filter}`),
    server.api('GET', `/workspaces/${workspace.id}`),
  ])
  return { workspace, runs: runs.toReversed(), versions: versions.toReversed(), resource: data }
}

/** Stuck runs, and a lock held by a finished run. */
export function stuckRuns({ workspace, runs, resource }: WorkspaceHistory): string[] {
  const problems = runs
    .filter(({ attributes }) => !ENDED.has(attributes.status))
    .map(({ id, attributes }) => `${id} is ${attributes.status}, waiting for ${attributes['waiting-reason']}`)
  if (resource.attributes.locked) {
    const holder = resource.relationships['locked-by']?.data
    problems.push(`${workspace.name} is locked by ${holder?.type} ${holder?.id}`)
  }
  return problems
}

/** Applies that finished without their whole log. */
export async function brokenLogs(server: BootedServer, { runs }: WorkspaceHistory): Promise<string[]> {
  const problems: string[] = []
  for (const { id } of runs.filter(({ attributes }) => attributes.status === 'applied')) {
    for (const [phase, last] of [
      ['plan', 'Plan:'],
      ['apply', 'Apply complete!'],
    ] as const) {
      const log = await logOf(server, id, phase)
      if (!log.includes(last) || !log.endsWith(ETX))
        problems.push(`the log of the ${phase} of ${id} is cut: ${log.slice(-200)}`)
    }
  }
  return problems
}

/**
 * Lost or duplicate firings. `sources` maps a workspace to the ids of the workspaces whose applies trigger it.
 * `histories` has all workspaces involved.
 */
export async function brokenTriggers(
  server: BootedServer,
  histories: readonly WorkspaceHistory[],
  sources: ReadonlyMap<string, readonly string[]>,
): Promise<string[]> {
  const problems: string[] = []
  const runsOf = new Map(histories.map(({ workspace, runs }) => [workspace.id, new Set(runs.map(({ id }) => id))]))
  const started = new Set<string>()
  for (const { workspace, runs } of histories) {
    const destinations = [...sources].filter(([, ids]) => ids.includes(workspace.id)).map(([id]) => id)
    for (const run of runs) {
      const { data } = await server.api('GET', `/runs/${run.id}/trigger-chain`)
      const firings = data.attributes.firings.filter((firing: any) => firing['source-run-id'] === run.id)
      const expected = run.attributes.status === 'applied' ? destinations : []
      const reached = firings.map((firing: any) => firing['workspace-id'])
      if (reached.toSorted().join() !== expected.toSorted().join())
        problems.push(`${run.id} of ${workspace.name} has triggered ${reached.join(', ')}, not ${expected.join(', ')}`)
      for (const { status, reason, 'run-id': id, 'workspace-id': destination } of firings) {
        if (status === 'fired' && runsOf.get(destination)?.has(id)) started.add(id)
        else if (status !== 'skipped' || !reason)
          problems.push(`${run.id} of ${workspace.name} is ${status} in ${destination}, with the run ${id}: ${reason}`)
      }
    }
  }
  // Runs without a cause.
  for (const destination of sources.keys())
    for (const id of runsOf.get(destination) ?? []) if (!started.has(id)) problems.push(`${id} has no cause`)
  return problems
}

/** Whether a firing has not been decided yet. */
export async function hasWaitingFirings(server: BootedServer, workspace: RemoteWorkspace): Promise<boolean> {
  for (const { id } of await listAll(server, `/workspaces/${workspace.id}/runs`)) {
    const { data } = await server.api('GET', `/runs/${id}/trigger-chain`)
    if (data.attributes.firings.some(({ status }: any) => status === 'waiting')) return true
  }
  return false
}

type Instance = { index_key?: string; status?: string; attributes: { id: string } }

/** States that are lost, differ from the announced content, or are out of order. */
export async function lostStates({ workspace, runs, versions }: WorkspaceHistory): Promise<string[]> {
  const problems: string[] = []
  const { name } = workspace
  const known = new Map<string, string>()
  const storedBy = new Set<string>()
  let lineage: string | undefined
  let serial = -1
  for (const { id, attributes, relationships } of versions) {
    // Announced and never uploaded: the engine or its connection was killed in between.
    if (attributes.status === 'pending' || attributes.status === 'discarded') continue
    if (attributes.status !== 'finalized') {
      problems.push(`${id} of ${name} is ${attributes.status}`)
      continue
    }
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const response = await fetch(attributes['hosted-state-download-url'], { headers })
    const raw = Buffer.from(await response.arrayBuffer())
    if (response.status !== 200) {
      problems.push(`${id} of ${name} cannot be downloaded: ${response.status}`)
      continue
    }
    if (createHash('md5').update(raw).digest('hex') !== attributes.md5 && attributes.md5 !== undefined)
      problems.push(`${id} of ${name} has not the MD5 sum ${attributes.md5}`)
    const state = JSON.parse(raw.toString())
    if (state.serial !== attributes.serial) problems.push(`${id} of ${name} has the serial ${state.serial} inside`)
    if (relationships.run?.data) storedBy.add(relationships.run.data.id)
    // An engine that is interrupted before it creates anything stores an empty state and starts over.
    const isEmpty = state.resources.length === 0 && Object.keys(state.outputs).length === 0
    if (lineage === undefined && isEmpty) continue
    if (state.serial <= serial) problems.push(`${id} of ${name} has the serial ${state.serial} after ${serial}`)
    serial = state.serial
    lineage ??= state.lineage
    if (state.lineage !== lineage) problems.push(`${id} of ${name} begins a new lineage`)
    for (const { index_key: key, status, attributes: instance } of instancesOf(state)) {
      if (key === undefined) continue
      const before = known.get(key)
      // The engine recreates a tainted instance: its provisioner was interrupted.
      if (before !== undefined && before !== instance.id)
        problems.push(`${id} of ${name} has lost ${key} and recreated it`)
      if (status === 'tainted') known.delete(key)
      else known.set(key, instance.id)
    }
  }
  const stored = () =>
    versions.map((version) => `${version.attributes.serial} by ${version.relationships.run?.data?.id}`)
  for (const { id, attributes } of runs)
    if (attributes.status === 'applied' && !storedBy.has(id))
      problems.push(`${id} of ${name} was applied, and its state is not there: ${stored().join(', ')}`)
  return problems
}

function instancesOf(state: { resources: { instances: Instance[] }[] }): Instance[] {
  return state.resources.flatMap(({ instances }) => instances)
}

/** Unexpected processes running below a directory: engines, their programs and launchers. */
export async function leftProcesses(directory: string, allowed: ReadonlySet<number>): Promise<string[]> {
  const problems: string[] = []
  for (const name of await readdir('/proc')) {
    const pid = Number(name)
    if (Number.isNaN(pid) || allowed.has(pid)) continue
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (cwd.startsWith(directory) || command.includes(directory))
      problems.push(`process ${pid} works in ${cwd}: ${command.replaceAll('\0', ' ')}`)
  }
  return problems
}

/** Run directories that an agent has neither removed nor retained for an apply. */
export async function leftDirectories(workDir: string): Promise<string[]> {
  const runs = join(workDir, 'runs')
  const problems: string[] = []
  for (const name of await readdir(runs).catch(() => [])) {
    const files = await readdir(join(runs, name))
    if (!files.includes('kept.json')) problems.push(`${join(runs, name)} is left, with ${files.join(', ')}`)
  }
  return problems
}
