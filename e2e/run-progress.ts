import { setTimeout as pause } from 'node:timers/promises'
import { ENDED_STATUSES } from '@groundstate/contract/run-status'
import type { BootedServer } from './server.ts'

/** The final statuses of runs. */
export const ENDED: ReadonlySet<string> = new Set(ENDED_STATUSES)

/** Time limit of every wait, in ms. */
const MAX_RETRY_DELAY_MS = 120_000

type Run = { id: string; attributes: any }

/** Polls until the callback returns a value. */
export async function until<T>(look: () => Promise<T>): Promise<NonNullable<T>> {
  for (const end = Date.now() + MAX_RETRY_DELAY_MS; ;) {
    const found = await look()
    if (found) return found
    if (Date.now() > end) throw new Error(`nothing came of it: ${String(look)}`)
    await pause(100)
  }
}

/** Polls until the run that `find` returns has the status; throws with its error if it ends with another. */
export async function untilRunIs(
  server: BootedServer,
  find: () => Promise<Run | undefined>,
  wanted: string,
): Promise<Run> {
  return until(async () => {
    const run = await find()
    if (run?.attributes.status === wanted) return run
    if (run) await requireUnended(server, run)
    return undefined
  })
}

/** Throws with the run's error if it has ended. */
export async function requireUnended(server: BootedServer, { id, attributes }: Run) {
  if (!ENDED.has(attributes.status)) return
  const logs = await Promise.all((['plan', 'apply'] as const).map((phase) => logOf(server, id, phase).catch(String)))
  throw new Error([`${id} is ${attributes.status}: ${attributes['error-message']}`, ...logs].join('\n'))
}

export async function readRun(server: BootedServer, id: string): Promise<Run> {
  return (await server.api('GET', `/runs/${id}`)).data
}

/** The latest run of a workspace. */
export async function latestRun(server: BootedServer, workspaceId: string) {
  return (await server.api('GET', `/workspaces/${workspaceId}/runs`)).data[0]
}

/** The log of a phase as text. */
export async function logOf(server: BootedServer, run: string, phase: 'plan' | 'apply') {
  const { data } = await server.api('GET', `/runs/${run}/${phase}`)
  return (await fetch(data.attributes['log-read-url'])).text()
}
