import { setTimeout as pause } from 'node:timers/promises'
import { RUN_GROUPS } from '@groundstate/contract/run-status'
import type { Random } from '../../server/src/testing/random.ts'
import type { RemoteWorkspace } from '../remote-workspaces.ts'
import { ENDED } from '../run-progress.ts'
import { resource, send } from './client.ts'
import { type Journal, reading, write } from './journal.ts'
import type { Site } from './site.ts'

const POLL_MS = 250
/** A run that has not ended after this time, in ms, despite the faults, counts as stuck. */
const MAX_RUN_MS = 180_000

const ACTIONS = {
  auto: undefined,
  apply: 'is-confirmable',
  discard: 'is-discardable',
  cancel: 'is-cancelable',
} as const
type Way = keyof typeof ACTIONS

const { finished: FINISHED, stopped: STOPPED, errored: ERRORED } = RUN_GROUPS
/** Final statuses of runs whose action was acknowledged. An agent or engine that faults hit may fail the run. */
const ENDS: Record<Way, readonly string[]> = {
  auto: [...FINISHED, ...ERRORED],
  apply: [...FINISHED, ...ERRORED],
  discard: STOPPED,
  // The agent may have finished before it learns of the cancellation.
  cancel: [...STOPPED, ...FINISHED, ...ERRORED],
}

/** Creates runs of a workspace, one after the other, and decides about each: half of them apply automatically. */
export async function writeRuns(
  site: Site,
  journal: Journal,
  { workspace, random, limit }: { workspace: RemoteWorkspace; random: Random; limit: number },
  stop: AbortSignal,
) {
  for (let number = 1; number <= limit && !stop.aborted; number += 1) {
    const way = random.pick(['auto', 'auto', 'auto', 'apply', 'apply', 'discard', 'cancel'] as const)
    const id = await createRun(site, journal, { workspace, number, way })
    if (id !== undefined) await decide(site, journal, { id, way })
  }
}

/** Undefined if the run was not created, or nobody knows. */
async function createRun(
  { server: { url } }: Site,
  journal: Journal,
  { workspace, number, way }: { workspace: RemoteWorkspace; number: number; way: Way },
) {
  const message = `run ${number}`
  const attributes = { message, 'auto-apply': way === 'auto', variables: [{ key: 'n', value: `${number}` }] }
  const body = resource('runs', attributes, {
    workspace: ['workspaces', workspace.id],
    'configuration-version': ['configuration-versions', workspace.configurationId],
  })
  const outcome = await write(journal, { kind: 'run', url, request: ['POST', '/runs'], body })
  const key = `${message} of ${workspace.name}`
  const count = ({ data }: any) => `${data.filter((run: any) => run.attributes.message === message).length} runs`
  const read = reading(`/workspaces/${workspace.id}/runs?page%5Bsize%5D=100`, count)
  if (outcome.kind === 'acknowledged') {
    const { id } = outcome.body.data
    journal.facts.set(key, { read, possible: ['1 runs'] })
    journal.audits.push(`${id} create`)
    journal.runs.add(id)
    return id as string
  }
  journal.facts.set(key, { read, possible: outcome.kind === 'refused' ? ['0 runs'] : ['0 runs', '1 runs'] })
  // It waits for a decision, and other runs wait for it.
  const found = await send(url, ['GET', `/workspaces/${workspace.id}/runs?page%5Bsize%5D=100`])
  if (found.kind !== 'acknowledged') return undefined
  return found.body.data.find((run: any) => run.attributes.message === message)?.id as string | undefined
}

/** Discards runs that wait for a decision: nobody knows them whose creation was not answered. */
export async function discardUndecided({ server: { url } }: Site, runs: readonly { id: string; attributes: any }[]) {
  for (const { id, attributes } of runs)
    if (RUN_GROUPS.needs_approval.includes(attributes.status))
      await send(url, ['POST', `/runs/${id}/actions/discard`], {})
}

/** Takes the action once it is possible, and resolves when the run has ended. */
async function decide({ server: { url } }: Site, journal: Journal, { id, way }: { id: string; way: Way }) {
  const action = ACTIONS[way]
  let acknowledged = way === 'auto'
  for (const end = Date.now() + MAX_RUN_MS; Date.now() < end; await pause(POLL_MS)) {
    const read = await send(url, ['GET', `/runs/${id}`])
    if (read.kind !== 'acknowledged') continue
    const { status, actions } = read.body.data.attributes
    if (ENDED.has(status)) break
    if (acknowledged || action === undefined) continue
    // A plan that has ended can only be discarded.
    const isPlanned = way === 'cancel' && actions['is-cancelable'] !== true && actions['is-discardable'] === true
    if (actions[action] !== true && !isPlanned) continue
    const taken = isPlanned ? 'discard' : way
    const request = ['POST', `/runs/${id}/actions/${taken}`] as const
    const outcome = await write(journal, { kind: `${taken} of a run`, url, request, body: {} }, true)
    acknowledged = outcome.kind === 'acknowledged'
    if (acknowledged) journal.audits.push(`${id} ${taken}`)
  }
  const possible = acknowledged ? ENDS[way] : [...new Set(Object.values(ENDS).flat())]
  journal.facts.set(`${way} of ${id}`, {
    possible,
    read: reading(`/runs/${id}`, ({ data }) => data.attributes.status),
  })
}
