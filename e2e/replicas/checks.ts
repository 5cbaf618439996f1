import { createHash } from 'node:crypto'
import { RUN_GROUPS } from '@groundstate/contract/run-status'
import { JOBS } from '../../server/src/features/list.ts'
import { historyOf, lostStates, stuckRuns } from '../findings.ts'
import { listAll, type RemoteWorkspace } from '../remote-workspaces.ts'
import { readRun } from '../run-progress.ts'
import type { BootedServer } from '../server.ts'
import { type Journal, readReceiverJournal, type ReceiverEntry } from './journal.ts'
import type { StateWorkspace } from './load-states.ts'
import type { Site } from './site.ts'

/** Clocks of processes of one machine agree to this, in ms. */
const CLOCK_MS = 100
const CONCURRENCY = 8
/** Their later stages are not reached. */
const STOPPED: ReadonlySet<string> = new Set([...RUN_GROUPS.stopped, ...RUN_GROUPS.errored])

/** Runs work for all items, a few at a time. */
async function each<T>(items: Iterable<T>, work: (item: T) => Promise<void>) {
  const remaining = items[Symbol.iterator]() as IterableIterator<T>
  const runner = async () => {
    for (const item of remaining) await work(item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, runner))
}

/** Facts that a replica does not return, or not as another one. */
export async function lostFacts({ replicas }: Site, { facts }: Journal): Promise<string[]> {
  const problems: string[] = []
  await each(facts, async ([what, { read, possible }]) => {
    const values = await Promise.all(replicas.map(async ({ url }) => read(url)))
    if (new Set(values).size > 1) problems.push(`${what} differs: ${values.join(', ')}`)
    else if (!possible.includes(values[0] ?? '')) problems.push(`${what} is ${values[0]}, not ${possible.join(' or ')}`)
  })
  return problems
}

/** Acknowledged changes without an event in the audit trail, or with fewer than there were. */
export async function missingAudits({ server }: Site, { audits }: Journal): Promise<string[]> {
  const found = new Map<string, number>()
  for (let page: number | null = 1; page !== null;) {
    const trail: any = await server.api('GET', `/admin/audit-trail?page%5Bsize%5D=1000&page%5Bnumber%5D=${page}`)
    for (const { resource } of trail.data) {
      const key = `${resource.id} ${resource.action}`
      found.set(key, (found.get(key) ?? 0) + 1)
    }
    page = trail.pagination.next_page
  }
  const expected = Object.entries(Object.groupBy(audits, (audit) => audit))
  return expected
    .filter(([key, all]) => (found.get(key) ?? 0) < (all?.length ?? 0))
    .map(([key, all]) => `the audit trail has ${found.get(key) ?? 0} of ${all?.length} events ${key}`)
}

/** States that are lost, twice there or out of order, in workspaces whose state a client writes. */
export async function brokenSerials({ server }: Site, workspaces: readonly StateWorkspace[]): Promise<string[]> {
  const problems: string[] = []
  for (const { id, name, serial } of workspaces) {
    const { resource: workspace, versions } = await historyOf(server, { id, name, configurationId: '' })
    if (workspace.attributes.locked) problems.push(`${name} is locked`)
    const serials = versions.map(({ attributes }) => attributes.serial as number)
    const expected = Array.from({ length: serial }, (_, index) => index + 1)
    if (serials.join() !== expected.join())
      problems.push(`${name} has the serials ${serials.join()}, not 1 to ${serial}`)
    for (const version of versions) {
      const md5 = await downloadSum(version)
      if (md5 !== version.attributes.md5) problems.push(`${version.id} of ${name} is ${md5} when it is downloaded`)
    }
  }
  return problems
}

async function downloadSum({ attributes }: { attributes: any }) {
  const response = await fetch(attributes['hosted-state-download-url'])
  return response.ok
    ? createHash('md5')
        .update(Buffer.from(await response.arrayBuffer()))
        .digest('hex')
    : `status ${response.status}`
}

/** Runs that do not end, locks that nobody holds, and lost states, in workspaces with runs. Has the errors of runs, too. */
export async function brokenRuns({ server }: Site, workspaces: readonly RemoteWorkspace[]) {
  const problems: string[] = []
  const statuses: Record<string, number> = {}
  const errors: string[] = []
  for (const workspace of workspaces) {
    const history = await historyOf(server, workspace)
    problems.push(...stuckRuns(history), ...(await lostStates(history)))
    for (const { id, attributes } of history.runs) {
      statuses[attributes.status] = (statuses[attributes.status] ?? 0) + 1
      if (attributes.status !== 'errored') continue
      const { data } = await server.api('GET', `/runs/${id}/run-events`)
      const events = data.filter(({ attributes }: any) => attributes.action === 'errored')
      errors.push(`${id} is errored: ${events.map(({ attributes }: any) => attributes.description).join()}`)
    }
  }
  return { problems, statuses, errors }
}

type Attempt = { attributes: any }
/** A request, by the id that it has in the receiver's journal, and the attempts to deliver it. */
type Delivery = { id: string; attempts: Attempt[] }

/** Results of run tasks and notifications without a delivery, or whose request came again after the server had recorded its 200. */
export async function brokenDeliveries(site: Site, runs: readonly string[], configurations: readonly string[]) {
  const { server, receiver } = site
  const entries = readReceiverJournal(receiver.journal)
  const received = Map.groupBy(
    entries.filter((entry) => entry.kind === 'request'),
    ({ id }) => id,
  )
  const callbacks = new Map(entries.filter(({ kind }) => kind === 'callback').map((entry) => [entry.id, entry]))
  const problems: string[] = []
  const deliveries: Delivery[] = []

  await each(runs, async (run) => {
    const { status: end } = (await readRun(server, run)).attributes
    for (const result of await resultsOf(server, run)) {
      const { status, message } = result.attributes
      const callback = callbacks.get(result.id)
      if (
        callback?.kind === 'callback' &&
        callback.status === 200 &&
        (status !== 'passed' || message !== callback.message)
      )
        problems.push(`${result.id} of ${run} was called back, and is ${status}: ${message}`)
      if (status !== 'passed' && !(STOPPED.has(end) && ['canceled', 'unreachable'].includes(status)))
        problems.push(`${result.id} of ${run} is ${status}: ${message}`)
      const attempts = await listAll(server, `/task-results/${result.id}/deliveries`)
      deliveries.push({ id: result.id, attempts })
    }
  })
  for (const id of configurations) {
    const all = await notificationsOf(server, id)
    const keyOf = ({ attributes }: Attempt) =>
      `${attributes['run-id']} ${attributes.trigger} ${attributes['run-status']}`
    const repeated = new Set(all.map(keyOf).filter((key, index, keys) => keys.indexOf(key) !== index))
    await each(all, async (notification) => {
      const key = keyOf(notification)
      const { status, error } = notification.attributes
      if (status !== 'delivered') problems.push(`${notification.id} (${key}) is ${status}: ${error}`)
      if (!received.has(key)) problems.push(`${notification.id} (${key}) was never received`)
      if (repeated.has(key)) return
      deliveries.push({ id: key, attempts: await listAll(server, `/notifications/${notification.id}/deliveries`) })
    })
  }

  let unrecorded = 0
  for (const { id, attempts } of deliveries) {
    const requests = received.get(id) ?? []
    problems.push(...repeatsOf(site, { id, attempts }, requests))
    unrecorded += Math.max(0, requests.length - 1)
  }
  const count = entries.filter(({ kind }) => kind === 'request').length
  return { problems, count, unrecorded, callbacks: callbacks.size }
}

/** Requests that were sent after the server had received and recorded a 200. */
function repeatsOf({ receiver }: Site, { id, attempts }: Delivery, requests: readonly ReceiverEntry[]) {
  const done = attempts
    .filter(({ attributes }) => attributes.response?.status === 200)
    .map(({ attributes }) => new Date(attributes['sent-at']).getTime() + attributes['duration-ms'])
  if (done.length === 0) return []
  const acknowledgedAt = Math.min(...done)
  return requests
    .map((entry) => (entry.kind === 'request' ? (receiver.link.sentAt(entry.port, entry.at) ?? entry.at) : 0))
    .filter((sentAt) => sentAt > acknowledgedAt + CLOCK_MS)
    .map((sentAt) => `${id} was sent again ${sentAt - acknowledgedAt} ms after its 200`)
}

async function resultsOf(server: BootedServer, run: string): Promise<{ id: string; attributes: any }[]> {
  const stages = await server.api('GET', `/runs/${run}/task-stages`)
  const ids: string[] = stages.data.flatMap(({ relationships }: any) =>
    relationships['task-results'].data.map(({ id }: { id: string }) => id),
  )
  return Promise.all(ids.map(async (id) => (await server.api('GET', `/task-results/${id}`)).data))
}

async function notificationsOf(
  server: BootedServer,
  configuration: string,
): Promise<{ id: string; attributes: any }[]> {
  const found: { id: string; attributes: any }[] = []
  for (let page = 1; ; page += 1) {
    const path = `/notification-configurations/${configuration}/notifications`
    const { data } = await server.api('GET', `${path}?page%5Bsize%5D=100&page%5Bnumber%5D=${page}`)
    found.push(...data)
    if (data.length < 100) return found
  }
}

/** Jobs that are not retried, since they run again on a schedule. */
const REPEATED_JOBS = new Set(
  JOBS.filter(({ kind, schedule }) => schedule !== undefined && kind.retryLimit === 0).map(({ kind }) => kind.name),
)

/** Background jobs that have failed finally. */
export async function failedJobs({ server }: Site): Promise<string[]> {
  const jobs = await listAll(server, '/admin/failed-jobs')
  const lost = jobs.filter(({ attributes }) => !REPEATED_JOBS.has(attributes.kind))
  return lost.map(({ attributes }) => `a job ${attributes.kind} has failed: ${attributes.error}`)
}
