import type { UpdateAgentPool } from '@groundstate/contract/agent-pools'
import type { TransactionCtx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { listReadableProjects } from '../../organizations/projects/access.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'

type PoolKey = { id: string; organizationId: string }

/** Replaces the workspaces and projects that may use the pool, or may not, by those that the relationships name. */
export async function replacePoolScope(
  ctx: TransactionCtx,
  pool: PoolKey,
  {
    'allowed-workspaces': allowed,
    'excluded-workspaces': excluded,
    'allowed-projects': projects,
  }: UpdateAgentPool['relationships'],
) {
  const rules = [
    { rule: 'allowed', relation: allowed },
    { rule: 'excluded', relation: excluded },
  ] as const
  for (const { rule, relation } of rules) {
    if (!relation) continue
    const ids = relation.data.map((workspace) => workspace.id)
    const known = await listReadableWorkspaces(ctx, ids)
    checkAll(ids, known, { pool, noun: 'workspace', relation: `${rule}-workspaces` })
    await store.replaceWorkspaces(ctx.db, ctx.actor, { poolId: pool.id, rule, ids })
  }
  if (projects) {
    const ids = projects.data.map((project) => project.id)
    const known = await listReadableProjects(ctx, ids)
    checkAll(ids, known, { pool, noun: 'project', relation: 'allowed-projects' })
    await store.replaceProjects(ctx.db, ctx.actor, { poolId: pool.id, ids })
  }
}

/** Throws `invalid` for an id that is not in the pool's organization, or that the caller may not see. */
function checkAll(
  ids: readonly string[],
  known: readonly { id: string; organization_id: string }[],
  { pool, noun, relation }: { pool: PoolKey; noun: string; relation: string },
) {
  const found = new Set(known.filter((row) => row.organization_id === pool.organizationId).map((row) => row.id))
  const missing = ids.find((id) => !found.has(id))
  if (missing !== undefined)
    throw invalid(`the organization has no ${noun} ${missing}`, `/data/relationships/${relation}`)
}
