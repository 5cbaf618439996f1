import { pageOf } from '@groundstate/contract/responses'
import { type CommitStatusDeliveryResource, commitStatusDeliverySchema } from '@groundstate/contract/vcs-deliveries'
import { attemptAttributes } from '../../../deliveries/attempts.ts'
import type { Routes } from '../../../http/http.ts'
import { text } from '../../../http/query.ts'
import { accepted } from '../../../http/responses.ts'
import type { StatusDeliveryRow } from './log-store.ts'
import * as service from './service.ts'

export const commitStatusRoutes: Routes = (http) => {
  http.get(
    '/workspaces/:workspaceId/commit-status-deliveries',
    {
      summary: 'List the requests that set statuses of commits, the latest first',
      access: { workspace: 'runs:read' },
      query: { 'filter[run]': text().describe('id of a run') },
      responses: { 200: pageOf(commitStatusDeliverySchema) },
    },
    async (req) => {
      const filter = { runId: req.query['filter[run]'], page: req.page() }
      return req.list(await service.listDeliveries(req.ctx, req.params.workspaceId, filter), deliveryResource)
    },
  )
  http.post(
    '/runs/:runId/actions/resend-commit-status',
    {
      summary: 'Set the status of the commit of a run again',
      access: { workspace: 'runs:apply' },
      audit: 'run resend_commit_status',
      responses: { 202: null },
    },
    async (req) => {
      await service.resendStatus(req.ctx, req.params.runId)
      return accepted()
    },
  )
}

function deliveryResource(row: StatusDeliveryRow & { isHidden: boolean }): CommitStatusDeliveryResource {
  const status = row.response_status
  return {
    id: row.id,
    type: 'commit-status-deliveries',
    attributes: {
      'commit-sha': row.commit_sha,
      kind: row.kind,
      status: status !== null && status >= 200 && status < 300 ? 'succeeded' : 'failed',
      ...attemptAttributes(row),
      error: row.error,
    },
    relationships: {
      workspace: { data: { id: row.workspace_id, type: 'workspaces' } },
      run: { data: row.run_id === null ? null : { id: row.run_id, type: 'runs' } },
    },
  }
}
