import { jobHandler, reaction } from '../../../handlers.ts'
import { evaluationEnded } from '../../policies/policy-evaluations/service.ts'
import { resultsEnded } from '../../tasks/task-results/events.ts'
import { workspaceUnlocked } from '../../workspaces/workspaces/audit.ts'
import { configurationUploaded } from '../configuration-versions/access.ts'
import { advanceQueue, advanceRun, endDeferral } from './advance.ts'
import { endDeferralJob } from './deferral.ts'
import { insertUploadedRun } from './service.ts'
import { settleStage } from './stages.ts'
import type { Change } from './transition.ts'

export const runJobs = [jobHandler(endDeferralJob, async (ctx, { runId }) => endDeferral(ctx, runId))]

export const runReactions = [
  reaction(workspaceUnlocked, async (ctx, workspace) => {
    if (workspace.waiting_runs > 0) await advanceQueue(ctx, workspace.id)
  }),
  reaction(configurationUploaded, async (ctx, { workspace, versionId }) => {
    await insertUploadedRun(ctx, workspace, versionId)
  }),
  reaction(resultsEnded, async (ctx, { runId, stageIds }) => {
    let change: Change | undefined
    for (const stageId of stageIds) {
      const settled = await settleStage(ctx, stageId)
      if (settled) change = { ...change, ...settled }
    }
    if (change) await advanceRun(ctx, runId, change)
  }),
  reaction(evaluationEnded, async (ctx, { runId, stageId }) => {
    const change = await settleStage(ctx, stageId)
    if (change) await advanceRun(ctx, runId, change)
  }),
]
