import type { AgentJob } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { applyChange } from '../runs/advance.ts'
import { changeRunOfJob } from './change-run.ts'
import { excuseReceipt, type JobKey } from './store.ts'

/** Queues a job again that an agent hands back before it has begun. It does not count as an attempt. */
export async function releaseJob(ctx: Ctx, job: JobKey) {
  await changeRunOfJob(ctx, job, {}, async (ctx, { locked }) => {
    await excuseReceipt(ctx.db, job.id)
    await applyChange(ctx, locked, { job: 'retry', isHandedBack: true })
  })
}

/** Queues a job again that its agent has not received. */
export async function handBackJob(ctx: Ctx, { id, runId, workspaceId }: AgentJob) {
  await releaseJob(ctx, { id, run_id: runId, workspace_id: workspaceId })
}
