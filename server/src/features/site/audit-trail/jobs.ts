import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { sweepAuditTrail } from './sweep.ts'

const sweep = jobKind('audit-trail.sweep', z.object({}), { concurrency: 1, retryLimit: 0 })

export const auditTrailJobs = [
  jobHandler(sweep, async (ctx, _, signal) => sweepAuditTrail(ctx, signal), { schedule: '43 3 * * *' }),
]
