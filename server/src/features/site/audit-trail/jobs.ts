import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { countAuditDays } from './count-days.ts'
import { sweepAuditTrail } from './sweep.ts'

const sweep = jobKind('audit-trail.sweep', z.object({}), { concurrency: 1, retryLimit: 0 })
const countDays = jobKind('audit-trail.count-days', z.object({}), { concurrency: 1, retryLimit: 0 })

export const auditTrailJobs = [
  jobHandler(sweep, async (ctx, _, signal) => sweepAuditTrail(ctx, signal), { schedule: '43 3 * * *' }),
  // Soon after the last day is complete: what is not counted yet is counted with each request.
  jobHandler(countDays, async (ctx) => countAuditDays(ctx), { schedule: '17 1 * * *' }),
]
