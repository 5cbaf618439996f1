import { z } from 'zod'
import { type JobHandler, jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { fireJob } from './fire-job.ts'
import { fireOverdue, fireTriggers } from './fire.ts'

const overdue = jobKind('run-triggers.overdue', z.object({}), { concurrency: 1 })

export const runTriggerJobs: readonly JobHandler[] = [
  jobHandler(fireJob, async (ctx, { workspaceId }) => fireTriggers(ctx, workspaceId)),
  jobHandler(overdue, async (ctx, _, signal) => fireOverdue(ctx, signal), { schedule: '* * * * *' }),
]
