import type { TaskTestResource } from '@groundstate/contract/run-tasks'
import type { App, Ctx } from '../../../app.ts'
import { isSiteAdmin } from '../../../auth/actor.ts'
import type { Exchange } from '../../../outbound/outbound.ts'
import type { TaskPool } from '../task-requests/task-request.ts'
import type { TaskRow } from './store.ts'

/** The destination of a task's requests, the key that signs them, and the pool whose agents send them. */
export type Receiver = {
  url: string
  hmacKey: string | undefined
  ca: string | undefined
  pool: TaskPool | undefined
}

export type Verification = {
  request: { url: string; headers: Record<string, string>; body: string }
  signature: string
  exchange: Exchange
}

export function taskReceiver(
  { secrets }: Pick<App, 'secrets'>,
  task: Pick<TaskRow, 'id' | 'url' | 'hmac_key' | 'ca_certificates' | 'agent_pool_id'> & {
    agent_pool_name: string | null
  },
): Receiver {
  return {
    url: task.url,
    hmacKey: task.hmac_key === null ? undefined : secrets.openText(task.hmac_key, keyContext(task.id)),
    ca: task.ca_certificates ?? undefined,
    pool: task.agent_pool_id === null ? undefined : { id: task.agent_pool_id, name: task.agent_pool_name ?? '' },
  }
}

/** The column for a task's key; null without one. */
export function sealKey({ secrets }: Pick<App, 'secrets'>, taskId: string, hmacKey: string | undefined) {
  return hmacKey === undefined ? null : secrets.seal(hmacKey, keyContext(taskId))
}

function keyContext(taskId: string) {
  return `tasks/${taskId}/hmac-key`
}

/** The result of a request in one line. Of a hidden response it has only the status. */
export function describeExchange({ response, error }: Exchange, { isHidden }: { isHidden: boolean }) {
  if (!response) return error
  if (isHidden) return `the response was ${response.status}`
  const text = response.body.toString('utf8').replaceAll(/\s+/g, ' ').trim()
  const start = text.length > 200 ? `${text.slice(0, 200)}…` : text
  return start === '' ? `the response was ${response.status}` : `the response was ${response.status}: ${start}`
}

type ReceivedResponse = NonNullable<TaskTestResource['attributes']['response']>

/** The response of a receiver as shown to the actor. Of a hidden response only the status remains. */
export function shownResponse(response: Omit<ReceivedResponse, 'is-withheld'>, { isHidden }: { isHidden: boolean }) {
  const shown = isHidden ? { status: response.status, headers: {}, body: '', 'is-truncated': false } : response
  return { ...shown, 'is-withheld': isHidden }
}

/** Whether the response is hidden because it comes from a private address. Otherwise managers of run tasks could probe the server's network. */
export function isWithheld({ actor }: Pick<Ctx, 'actor'>, { isPrivate }: { isPrivate: boolean }) {
  return isPrivate && !isSiteAdmin(actor)
}
