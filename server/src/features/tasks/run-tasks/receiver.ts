import type { App } from '../../../app.ts'
import type { Exchange } from '../../../outbound/outbound.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
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

export const sealedHmacKey = sealedColumn('tasks.hmac_key', ['id'], ({ id }) => `tasks/${id}/hmac-key`)

function keyContext(taskId: string) {
  return sealedHmacKey.context({ id: taskId })
}
