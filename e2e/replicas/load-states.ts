import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { resource, send } from './client.ts'
import { type Journal, reading, write } from './journal.ts'
import type { Site } from './site.ts'

/** Pause between two requests of a client, in ms. */
const PACE_MS = 40
/** States between two locks. */
const STATES_PER_LOCK = 4

/** A workspace whose state one client writes. `serial` is the last one that was acknowledged. */
export type StateWorkspace = { id: string; name: string; lineage: string; serial: number }

export async function createStateWorkspace({ server }: Site, name: string): Promise<StateWorkspace> {
  const { data } = await server.api('POST', '/organizations/main/workspaces', resource('workspaces', { name }))
  return { id: data.id, name, lineage: randomUUID(), serial: 0 }
}

function stateOf({ name, lineage }: StateWorkspace, serial: number) {
  const outputs = { serial: { value: serial, type: 'number' }, text: { value: `${name} `.repeat(200), type: 'string' } }
  return Buffer.from(
    JSON.stringify({ version: 4, terraform_version: '1.11.4', serial, lineage, outputs, resources: [] }),
  )
}

/** Locks, writes one state after the other, and unlocks, as a command line does. */
export async function writeStates(site: Site, journal: Journal, workspace: StateWorkspace, stop: AbortSignal) {
  const { url } = site.server
  const act = async (action: 'lock' | 'unlock') => {
    const request = ['POST', `/workspaces/${workspace.id}/actions/${action}`] as const
    for (;;) {
      const outcome = await write(journal, { kind: action, url, request, body: {} }, true)
      // Refused since an earlier attempt took effect: only this client locks the workspace.
      if (outcome.kind === 'refused' && outcome.status !== 429 && outcome.status !== 409)
        journal.problems.push(`${action} of ${workspace.name} was refused: ${outcome.detail}`)
      if (outcome.kind === 'acknowledged') journal.audits.push(`${workspace.id} ${action}`)
      if (outcome.kind === 'acknowledged' || (outcome.kind === 'refused' && outcome.status === 409)) return
      await pause(PACE_MS)
    }
  }
  while (!stop.aborted) {
    await act('lock')
    for (let count = 0; count < STATES_PER_LOCK && !stop.aborted; count += 1) {
      await writeState(site, journal, workspace)
      await pause(PACE_MS)
    }
    await act('unlock')
  }
}

/** Repeats the request until the state is acknowledged or known to be there. */
async function writeState({ server: { url } }: Site, journal: Journal, workspace: StateWorkspace) {
  const { id, lineage } = workspace
  const serial = workspace.serial + 1
  const raw = stateOf(workspace, serial)
  const md5 = createHash('md5').update(raw).digest('hex')
  const body = resource('state-versions', { serial, md5, lineage, state: raw.toString('base64') })
  for (;;) {
    const request = ['POST', `/workspaces/${id}/state-versions`] as const
    const outcome = await write(journal, { kind: 'state version', url, request, body }, true)
    let found = outcome.kind === 'acknowledged' ? outcome.body.data : undefined
    if (outcome.kind === 'refused' && outcome.status !== 429) {
      const current = await send(url, ['GET', `/workspaces/${id}/current-state-version`])
      if (current.kind === 'acknowledged') {
        const { data } = current.body
        // A late attempt to lock or unlock may have come in between; the next one will find out.
        const isThere = data.attributes.serial === serial && data.attributes.md5 === md5
        const isUnlocked = outcome.status === 409 && /lock/.test(outcome.detail)
        if (isThere) found = data
        else if (isUnlocked) await send(url, ['POST', `/workspaces/${id}/actions/lock`], {})
        else journal.problems.push(`serial ${serial} of ${workspace.name} was refused: ${outcome.detail}`)
      }
    }
    if (found) {
      workspace.serial = serial
      const version: string = found.id
      journal.audits.push(`${version} create`)
      journal.facts.set(`state ${serial} of ${workspace.name} (${version})`, {
        possible: [`serial ${serial} md5 ${md5}`],
        read: reading(
          `/state-versions/${version}`,
          ({ data }) => `serial ${data.attributes.serial} md5 ${data.attributes.md5}`,
        ),
      })
      return
    }
    await pause(PACE_MS)
  }
}

/** Reads the current states through one replica after the other: no serial goes backwards. Returns the number of reads. */
export async function watchSerials(
  { replicas }: Site,
  journal: Journal,
  workspaces: readonly StateWorkspace[],
  stop: AbortSignal,
) {
  const seen = new Map<string, number>()
  let reads = 0
  for (let turn = 0; !stop.aborted; turn += 1) {
    const workspace = workspaces[turn % workspaces.length] as StateWorkspace
    const replica = replicas[Math.floor(turn / workspaces.length) % replicas.length]
    const floor = Math.max(seen.get(workspace.id) ?? 0, workspace.serial)
    const path = `/workspaces/${workspace.id}/current-state-version`
    const outcome = await send(replica?.url ?? '', ['GET', path], undefined, { timeoutMs: 1000 })
    if (outcome.kind === 'acknowledged') {
      reads += 1
      const { serial } = outcome.body.data.attributes
      if (serial < floor)
        journal.problems.push(`${replica?.name} returned serial ${serial} of ${workspace.name} after ${floor}`)
      seen.set(workspace.id, Math.max(floor, serial))
    }
    if (outcome.kind === 'refused' && floor > 0)
      journal.problems.push(`${replica?.name} has no state of ${workspace.name}: ${outcome.detail}`)
    await pause(PACE_MS)
  }
  return reads
}
