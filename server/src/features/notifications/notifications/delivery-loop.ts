import type { Ctx } from '../../../app.ts'
import { type Queue, startDeadlines, startDeliveries } from '../../../deliveries/loop.ts'
import { type Connections, firstDue, nextDue, renewLeases } from '../../../deliveries/queue.ts'
import { deliver } from './deliver.ts'
import {
  type ClaimedNotification,
  FIRST_DEADLINE,
  QUEUE,
  claimNotifications,
  giveUpNotifications,
} from './delivery-store.ts'
import { TOPIC } from './raise.ts'

/** Maximum connections of a process to receivers. Few to each: chat services and mail servers limit requests. */
const CONNECTIONS: Connections = { all: 300, reserved: 60, perOrganization: 100, perReceiver: 4 }

const notificationQueue: Queue<ClaimedNotification> = {
  name: 'notification',
  topic: TOPIC,
  firstDue: firstDue(QUEUE),
  nextDue: (now) => nextDue(QUEUE, now),
  claim: async (ctx, options) => claimNotifications(ctx.db, options),
  renew: async (db, leases) => renewLeases(db, QUEUE, leases),
  runOf: ({ run_id: id }) => ({ id }),
  receiverOf: ({ receiver_id, organization_id }) => ({ receiverId: receiver_id, organizationId: organization_id }),
  deliver,
}

/** Sends notifications, and gives up those that could not be delivered, until disposed. */
export function startNotificationDeliveries(ctx: Ctx, connections = CONNECTIONS): AsyncDisposable {
  const stack = new AsyncDisposableStack()
  stack.use(startDeliveries(ctx, notificationQueue, connections))
  stack.use(
    startDeadlines(ctx, {
      name: 'notification',
      topic: TOPIC,
      first: FIRST_DEADLINE,
      pass: async ({ db, now }) => giveUpNotifications(db, now()),
    }),
  )
  return stack
}
