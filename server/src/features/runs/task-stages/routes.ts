import { commentBody, type Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { listAll, listPage, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { requireRun } from '../runs/service.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { listRunStages, overrideTaskStage, requireTaskStage, showTaskStage, type TaskStage } from './service.ts'
import { runResource } from '../runs/resource.ts'
import { taskResultResource } from '../../tasks/task-results/resource.ts'
import { workspaceResource } from '../../workspaces/workspaces/resource.ts'
import { taskStageResource } from './resource.ts'

/** What clients ask for; there are no policies and costs to be included. */
const include = ['run', 'run.workspace', 'task_results', 'policy_evaluations', 'cost_estimate']

export const taskStageRoutes: Routes = (http) => {
  http.get('/runs/:runId/task-stages', { include }, async (req) => {
    const page = req.page()
    const stages = await listRunStages(req.ctx, req.params.runId)
    const start = (page.number - 1) * page.size
    const shown = stages.slice(start, start + page.size)
    const included = await includedWith(req.ctx, shown, req.includes)
    return listPage({ url: req.url, page }, { rows: shown.map(taskStageResource), total: stages.length }, included)
  })
  http.get('/task-stages/:id', { include }, async (req) => {
    const stage = await showTaskStage(req.ctx, req.params.id)
    return ok(taskStageResource(stage), await includedWith(req.ctx, [stage], req.includes))
  })
  http.get('/task-stages/:id/policy-evaluations', async (req) => {
    await requireTaskStage(req.ctx, req.params.id, 'runs:read')
    return listAll([])
  })
  http.post('/task-stages/:id/actions/override', { body: commentBody }, async (req) =>
    overrideTaskStage(req.ctx, req.params.id),
  )
}

async function includedWith(
  ctx: Ctx,
  stages: readonly TaskStage[],
  includes: ReadonlySet<string>,
): Promise<Resource[] | undefined> {
  if (includes.size === 0) return undefined
  const included: Resource[] = []
  if (includes.has('task_results')) {
    included.push(...stages.flatMap((stage) => stage.results.map(taskResultResource)))
  }
  const runId = stages[0]?.run_id
  if (runId !== undefined && (includes.has('run') || includes.has('run.workspace'))) {
    const run = await requireRun(ctx, runId, 'runs:read')
    included.push(runResource(ctx, run))
    if (includes.has('run.workspace')) {
      const workspaces = await listReadableWorkspaces(ctx, [run.workspace_id])
      included.push(...workspaces.map((workspace) => workspaceResource(workspace)))
    }
  }
  return included
}
