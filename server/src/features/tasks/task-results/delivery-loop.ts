import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { type Queue, startDeadlines, startDeliveries } from '../../../deliveries/loop.ts'
import { type Connections, firstDue, nextDue, renewLeases } from '../../../deliveries/queue.ts'
import { endOverdueResults } from './deadlines.ts'
import { deliver } from './deliver.ts'
import { type ClaimedRequest, QUEUE, claimDeliveries } from './deliveries-store.ts'
import { TOPIC, resultNotice } from './events.ts'
import { FIRST_DEADLINE } from './store.ts'

/** Maximum connections of a process to receivers. Requests sent by agents do not count. */
const CONNECTIONS: Connections = { all: 1000, reserved: 200, perOrganization: 500, perReceiver: 50 }

const taskQueue: Queue<ClaimedRequest> = {
  name: 'run task',
  topic: TOPIC,
  firstDue: firstDue(QUEUE),
  nextDue: (now) => nextDue(QUEUE, now),
  async claim(ctx, options) {
    const claims = await claimDeliveries(ctx.db, options)
    announce(ctx, ...claims.map(resultNotice))
    return claims
  },
  renew: async (db, leases) => renewLeases(db, QUEUE, leases),
  runOf: ({ run_id: id, traceparent }) => ({ id, traceparent }),
  receiverOf: ({ task_id, agent_pool_id, organization_id }) =>
    task_id === null || agent_pool_id !== null ? undefined : { receiverId: task_id, organizationId: organization_id },
  deliver,
}

/** Delivers run task requests and ends overdue results until disposed. */
export function startTaskDeliveries(ctx: Ctx, connections = CONNECTIONS): AsyncDisposable {
  const stack = new AsyncDisposableStack()
  stack.use(startDeliveries(ctx, taskQueue, connections))
  stack.use(startDeadlines(ctx, { name: 'run task', topic: TOPIC, first: FIRST_DEADLINE, pass: endOverdueResults }))
  return stack
}
