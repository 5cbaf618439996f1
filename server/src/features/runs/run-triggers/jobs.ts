import { z } from 'zod'
import { type JobHandler, jobHandler, reaction } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { runApplied } from '../runs/audit.ts'
import { fireJob, fireOverdue, fireTriggers, recordFirings } from './fire.ts'

const overdue = jobKind('run-triggers.overdue', z.object({}), { concurrency: 1 })

export const runTriggerJobs: readonly JobHandler[] = [
  jobHandler(fireJob, async (ctx, { workspaceId }) => fireTriggers(ctx, workspaceId)),
  jobHandler(overdue, async (ctx, _, signal) => fireOverdue(ctx, signal), { schedule: '* * * * *' }),
]

export const runTriggerReactions = [reaction(runApplied, recordFirings)]
