import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { runNotice } from '../../../changes/announce.ts'
import { type Page, transact } from '../../../db/db.ts'
import { isWithheld } from '../../../deliveries/attempts.ts'
import { conflict } from '../../../errors.ts'
import { requireRun } from '../../runs/runs/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as logStore from './log-store.ts'
import { TOPIC } from './send.ts'

/** The requests that reported about a workspace to its host, latest first; `isHidden` if the actor may not read the response. */
export async function listDeliveries(
  ctx: Ctx,
  workspaceId: string,
  { runId, page }: { runId: string | undefined; page: Page },
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:read')
  const { rows, total } = await logStore.listDeliveries(ctx.db, { workspaceId: workspace.id, runId, page })
  return { rows: rows.map((row) => ({ ...row, isHidden: isWithheld(ctx, { isPrivate: row.is_private }) })), total }
}

/** Throws `conflict` for a run without a commit, and for one that a later run of the commit replaced. */
export async function resendStatus(ctx: Ctx, runId: string) {
  const run = await requireRun(ctx, runId, 'runs:apply')
  await transact(ctx, async (ctx) => {
    if (!(await logStore.resendStatus(ctx.db, run.id, ctx.now())))
      throw conflict(
        `the run ${run.id} has no commit status: it has no commit, or a later run of the commit has its status`,
      )
    ctx.signals.publish(ctx.db, TOPIC)
    await recordAudit(ctx, {
      organizationId: run.organization_id,
      action: 'resend_commit_status',
      resource: { type: 'run', id: run.id },
      meta: {},
      notices: [runNotice(run)],
    })
  })
}
