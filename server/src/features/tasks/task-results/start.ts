import type { TransactionCtx } from '../../../app.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { tokenContext } from './access-token.ts'
import { announceResults } from './announce.ts'
import * as store from './store.ts'
import { TOPIC } from './topic.ts'

/**
 * Lets the requests of a stage go out once this transaction has committed, each with a token of its own. Tasks that
 * have been disabled, detached or deleted since the run was created are not asked. Returns false when no task is left
 * to ask.
 */
export async function startResults(ctx: TransactionCtx, stageId: string) {
  const now = ctx.now()
  const starts: store.Start[] = []
  const skips: { id: string; message: string }[] = []
  for (const row of await store.listResultsToStart(ctx.db, stageId)) {
    const change = changeSince(row)
    if (change !== undefined) {
      skips.push({ id: row.id, message: `not asked: the task ${row.task_name} ${change} after the run was created` })
      continue
    }
    const text = newTokenText()
    starts.push({
      id: row.id,
      tokenId: ctx.newId('at'),
      hash: tokenHash(text),
      sealed: ctx.secrets.seal(text, tokenContext(row.id)),
    })
  }
  if (skips.length > 0) await store.skipResults(ctx.db, skips, now)
  await announceResults(ctx, { ids: [...starts, ...skips].map(({ id }) => id) })
  if (starts.length === 0) return false
  const deadline = new Date(now.getTime() + ctx.config.runTaskTimeout)
  await store.startResults(ctx.db, starts, { now, deadline })
  ctx.signals.publish(ctx.db, TOPIC)
  return true
}

type ToStart = Awaited<ReturnType<typeof store.listResultsToStart>>[number]

function changeSince(row: ToStart) {
  if (row.task_id === null) return 'was deleted'
  if (!row.enabled) return 'was disabled'
  const atStage = row.stages?.includes(row.stage) || (row.global_enabled && row.global_stages?.includes(row.stage))
  if (atStage) return undefined
  return row.workspace_task_id === null ? 'was detached from the workspace' : 'was taken out of this stage'
}
