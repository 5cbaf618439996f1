import { type Stage, STAGES } from '@groundstate/contract/run-tasks'
import type { InferResult } from 'kysely'
import type { Ctx } from '../../../app.ts'
import { readWithNext } from '../../../db/later.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import * as store from './store.ts'

export async function listTasks(ctx: Ctx, organizationName: string, page: Page) {
  const organization = await requireOrganization(ctx, organizationName, 'run-tasks:read')
  const { rows, total } = await store.listTasks(ctx.db, organization.id, { limit: page.size, offset: pageOffset(page) })
  return { rows: await withAttachments(ctx, rows), total }
}

/** Where tasks are attached, by task id. Workspaces that the actor may not see are left out. */
export async function listAttachments(ctx: Ctx, taskIds: readonly string[]) {
  const rows = taskIds.length === 0 ? [] : await store.listAttachments(ctx.db, ctx.actor, taskIds)
  return Map.groupBy(rows, (row) => row.task_id)
}

/** The tasks with what attaches each of them, as `listAttachments` finds it. */
export async function withAttachments<T extends { id: string }>(ctx: Ctx, tasks: readonly T[]) {
  const attachments = await listAttachments(
    ctx,
    tasks.map(({ id }) => id),
  )
  return tasks.map((task) => ({ ...task, attachments: attachments.get(task.id) ?? [] }))
}

/** A task as a new run asks it: at these stages, with the most restrictive of the levels that apply. */
export type EffectiveTask = {
  id: string
  name: string
  url: string
  agentPoolId: string | null
  workspaceTaskId: string | null
  stages: { stage: Stage; enforcementLevel: 'advisory' | 'mandatory' }[]
}

/** The enabled tasks that a run of the workspace asks. The caller has authorised it. */
export async function listEffectiveTasks(
  ctx: Pick<Ctx, 'db'>,
  workspace: { id: string; organization_id: string },
): Promise<EffectiveTask[]> {
  return effectiveTasks(await store.selectEffectiveTasks(ctx.db, workspace).execute())
}

/** As `listEffectiveTasks`, but read with the next statement of a transaction, after which what is returned may be called. */
export async function readEffectiveTasks(
  ctx: Pick<Ctx, 'db'>,
  workspace: { id: string; organization_id: string },
): Promise<() => Promise<EffectiveTask[]>> {
  const read = await readWithNext(ctx.db, [store.selectEffectiveTasks(ctx.db, workspace)])
  return async () => {
    const [rows] = await read()
    return effectiveTasks(rows)
  }
}

type EffectiveRow = InferResult<ReturnType<typeof store.selectEffectiveTasks>>[number]

function effectiveTasks(rows: readonly EffectiveRow[]): EffectiveTask[] {
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    url: row.url,
    agentPoolId: row.agent_pool_id,
    workspaceTaskId: row.workspace_task_id,
    stages: STAGES.flatMap((stage) => {
      const levels = [
        ...(row.stages?.includes(stage) ? [row.enforcement_level] : []),
        ...(row.global_enabled && row.global_stages.includes(stage) ? [row.global_enforcement_level] : []),
      ]
      if (levels.length === 0) return []
      return [
        { stage, enforcementLevel: levels.includes('mandatory') ? ('mandatory' as const) : ('advisory' as const) },
      ]
    }),
  }))
}
