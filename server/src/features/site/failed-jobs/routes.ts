import { pageOf } from '@groundstate/contract/responses'
import { type FailedJobResource, failedJobSchema, failedJobsChanged } from '@groundstate/contract/site-health'
import type { Routes } from '../../../http/http.ts'
import { text } from '../../../http/query.ts'
import { json } from '../../../http/responses.ts'
import type { FailedJob } from '../../../jobs/queue-state.ts'
import { discardJobs, listJobs, retryJobs } from './service.ts'

const ADMIN = { access: 'site-admin' } as const
const CHANGED = { ...ADMIN, responses: { 200: failedJobsChanged } } as const
const JOBS = '/admin/failed-jobs'
const ACTIONS = [
  { name: 'retry', one: 'Retry a failed job', all: 'Retry failed jobs', audit: 'job retry', act: retryJobs },
  { name: 'discard', one: 'Discard a failed job', all: 'Discard failed jobs', audit: 'job discard', act: discardJobs },
] as const
const KIND = { 'filter[kind]': text().describe('kind of the jobs, such as run.advance') }

export const failedJobRoutes: Routes = (http) => {
  http.get(
    JOBS,
    { ...ADMIN, summary: 'List failed background jobs', query: KIND, responses: { 200: pageOf(failedJobSchema) } },
    async (req) => req.list(await listJobs(req.ctx, { kind: req.query['filter[kind]'], page: req.page() }), resource),
  )
  for (const { name, one, all, audit, act } of ACTIONS) {
    http.post(`${JOBS}/actions/${name}`, { ...CHANGED, summary: all, audit, query: KIND }, async ({ ctx, query }) =>
      json({ count: await act(ctx, { kind: query['filter[kind]'] }) }),
    )
    http.post(`${JOBS}/:jobId/actions/${name}`, { ...CHANGED, summary: one, audit }, async ({ ctx, params }) =>
      json({ count: await act(ctx, { id: params.jobId }) }),
    )
  }
}

function resource(job: FailedJob): FailedJobResource {
  return {
    id: job.id,
    type: 'failed-jobs',
    attributes: {
      kind: job.name,
      subjects: Object.values(job.data ?? {}).filter(isId),
      error: job.error,
      attempts: job.attempts,
      'created-at': job.created_on,
      'failed-at': job.completed_on,
    },
    links: { self: `/api/v2${JOBS}` },
  }
}

/** Other data may be secret, such as a mail. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z]+-[\w-]{1,60}$/.test(value)
}
