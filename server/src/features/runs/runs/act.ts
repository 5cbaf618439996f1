import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { insertComment } from '../comments/create.ts'
import { applyChange } from './advance.ts'
import { runAudit } from './audit.ts'
import { lockRun } from './locked-run-store.ts'
import type { LockedRun } from './locked-run.ts'
import type { Run } from './run.ts'
import type { Change } from './transition.ts'

/** The actions of people on runs: the names of their events, and those in the audit trail. */
const AUDIT_ACTIONS = {
  confirmed: 'apply',
  discarded: 'discard',
  canceled: 'cancel',
  force_canceled: 'force_cancel',
  force_executed: 'force_execute',
} as const satisfies Record<string, string>

export type RunAction = { action: keyof typeof AUDIT_ACTIONS; comment: string | undefined }

/** Checks that the action is possible, and returns the change that it makes; undefined when it only changes other runs. */
type Decide = (ctx: TransactionCtx, locked: LockedRun) => Promise<Omit<Change, 'events'> | undefined>

/** Takes a person's action on a run, with its comment, its event and its entry in the audit trail, in one transaction. */
export async function act(ctx: Ctx, run: Run, { action, comment }: RunAction, decide: Decide) {
  await transact(ctx, async (ctx) => {
    const key = { id: run.id, workspaceId: run.workspace_id }
    const locked = await lockRun(ctx.db, key)
    if (!locked) throw notFound('run')
    const change = await decide(ctx, locked)
    const commentId = comment === undefined ? null : await insertComment(ctx, run.id, comment)
    // Changes of other runs may have advanced this one.
    const current = change ? locked : await lockRun(ctx.db, key)
    if (current) await applyChange(ctx, current, { ...change, events: [{ action, description: null, commentId }] })
    await recordAudit(ctx, runAudit(run, AUDIT_ACTIONS[action]))
  })
}
