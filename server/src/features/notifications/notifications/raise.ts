import type { RunTrigger } from '@groundstate/contract/notification-configurations'
import { RUN_STATUS_TABLE, type RunStatus } from '@groundstate/contract/run-status'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { readWithNext } from '../../../db/pipeline.ts'
import { reaction } from '../../../handlers.ts'
import { runAdvanced, runCreated } from '../../runs/runs/audit.ts'
import type { RunRow } from '../../runs/runs/locked-run-store.ts'
import { workspaceDeleting } from '../../runs/workspace-deletion/service.ts'
import * as store from './event-store.ts'

/** Topic that wakes the processes that send notifications. */
export const TOPIC = 'notifications'

/** Time after which a notification that was not delivered is given up, in ms. */
export const MAX_AGE_MS = 86_400_000

export const notificationReactions = [
  reaction(runCreated, async (ctx, run) => raiseRunEvents(ctx, run, [{ trigger: 'run:created', status: run.status }])),
  reaction(runAdvanced, async (ctx, { run, path }) => raiseRunEvents(ctx, run, eventsOf(path))),
  reaction(workspaceDeleting, async (ctx, { id }) => {
    const count = await store.insertWorkspaceNotifications(ctx.db, {
      id: ctx.newId('ntf'),
      trigger: 'workspace:deleted',
      workspaceId: id,
      message: 'Workspace Deleted',
      deletedBy: usernameOf(ctx),
      ...timesOf(ctx),
    })
    await store.deleteIdleConfigurations(ctx.db, id)
    if (count > 0) ctx.signals.publish(ctx.db, TOPIC)
  }),
]

type StatusEvent = { trigger: RunTrigger; status: RunStatus }

/** The events of statuses that a run passes through. It needs attention only if it waits in the last one. */
function eventsOf(path: readonly RunStatus[]): StatusEvent[] {
  return path.flatMap((status, index) => {
    const { notifies } = RUN_STATUS_TABLE[status]
    if (notifies === undefined || (notifies === 'needs_attention' && index < path.length - 1)) return []
    return { trigger: `run:${notifies}` as const, status }
  })
}

/** The query is sent with the transaction's next statement, so that it costs no round trip. Speculative runs are not notified. */
async function raiseRunEvents(ctx: TransactionCtx, run: RunRow, events: readonly StatusEvent[]) {
  if (run.plan_only || events.length === 0) return
  const { now, deadline } = timesOf(ctx)
  const read = await readWithNext(ctx.db, [
    store.runNotificationsInsert({
      workspaceId: run.workspace_id,
      createdByUserId: run.created_by_user_id,
      events: events.map(({ trigger, status }) => ({
        id: ctx.newId('ntf'),
        trigger,
        facts: {
          message: messageOf(trigger, status),
          run_id: run.id,
          run_message: run.message,
          run_created_at: run.created_at.toISOString(),
          run_status: status,
          run_updated_at: now.toISOString(),
          run_is_destroy: run.is_destroy,
          run_updated_by: usernameOf(ctx),
        },
      })),
      now,
      deadline,
    }),
  ])
  ctx.signals.publishSoon(ctx.db, async () => ((await read())[0].length > 0 ? [TOPIC] : []))
}

/** Null for agents and the server. */
function usernameOf({ actor }: Pick<Ctx, 'actor'>) {
  return actor.kind === 'user' ? actor.username : null
}

function timesOf(ctx: Pick<Ctx, 'now'>) {
  const now = ctx.now()
  return { now, deadline: new Date(now.getTime() + MAX_AGE_MS) }
}

/** As the public service words it: `Run Created`, `Run Planned and Finished`. */
function messageOf(trigger: RunTrigger, status: RunStatus) {
  if (trigger === 'run:created') return 'Run Created'
  const words = status.split('_').map((word) => (word === 'and' ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`))
  return `Run ${words.join(' ')}`
}
