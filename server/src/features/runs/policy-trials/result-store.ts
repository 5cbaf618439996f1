import type { PolicyTrialRunStatus } from '@groundstate/contract/policy-trials'
import { type RawBuilder, sql } from 'kysely'
import { shareAccess } from '../../../auth/access-context.ts'
import { grantsColumn, sharedAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import type { Db } from '../../../db/db.ts'
import { selectScopedPolicySets } from '../../policies/policy-sets/scope-store.ts'

type Applied = { setId: string; organizationId: string; since: Date }

/** The plan of a run has ended well. Its JSON may no longer be kept. */
const isPlanned = sql<boolean>`p.kind = 'plan' and p.status = 'finished'`
const hasJson = sql<boolean>`(p.json_deleted_at is null and p.job_id is not null and p.documents_pending_since is null
  and p.documents_error is null)`

/** The workspaces to which a set applies, or would apply with policies, that have planned runs since a time, with their number by whether the plan has JSON. */
export async function listAppliedWorkspaces(db: Db, actor: Actor, { setId, organizationId, since }: Applied) {
  const w = (column: string): RawBuilder<string> => sql.ref(`w.${column}`)
  const scope = { id: w('id'), organization_id: w('organization_id'), project_id: w('project_id') }
  const applied = selectScopedPolicySets(db, scope).clearOrderBy().where('s.id', '=', setId)
  return (
    db
      .selectFrom('workspaces as w')
      .innerJoin('runs as r', 'r.workspace_id', 'w.id')
      .innerJoin('phases as p', 'p.run_id', 'r.id')
      .select('w.id')
      .select(sql<number>`count(*) filter (where ${hasJson})`.as('planned'))
      .select(sql<number>`count(*) filter (where not ${hasJson})`.as('planless'))
      .select(grantsColumn(actor, { projectId: w('project_id'), workspaceId: w('id') }).as('grants'))
      .where('w.organization_id', '=', organizationId)
      .where('r.organization_id', '=', organizationId)
      // A run is updated after its creation, and only this column has an index.
      .where('r.updated_at', '>=', since)
      .where('r.created_at', '>=', since)
      .where(isPlanned)
      .where((eb) => eb.exists(applied))
      .groupBy('w.id')
      .execute()
  )
}

type Newest = { organizationId: string; workspaceIds: readonly string[]; since: Date; limit: number }

/** Ids of the newest planned runs of workspaces since a time whose plan has JSON. */
export async function listNewestRuns(db: Db, { organizationId, workspaceIds, since, limit }: Newest) {
  const rows = await db
    .selectFrom('runs as r')
    .innerJoin('phases as p', 'p.run_id', 'r.id')
    .select('r.id')
    .where('r.organization_id', '=', organizationId)
    .where('r.updated_at', '>=', since)
    .where('r.created_at', '>=', since)
    .where(sql<boolean>`r.workspace_id = any(${workspaceIds})`)
    .where(isPlanned)
    .where(hasJson)
    .orderBy('r.seq', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

type Results = { trialId: string; statuses: readonly PolicyTrialRunStatus[] | undefined }

/** The runs of a trial with their access contexts, without outcomes. */
export async function listResultKeys(db: Db, actor: Actor, { trialId, statuses }: Results) {
  const rows = await db
    .selectFrom('policy_trial_runs as t')
    .innerJoin('runs as r', 'r.id', 't.run_id')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .select(['t.id', 'w.id as workspace_id', 'w.organization_id'])
    .select(sharedAccessColumn(actor).as('access'))
    .where('t.policy_trial_id', '=', trialId)
    .$if(statuses !== undefined, (query) => query.where(sql<boolean>`t.status = any(${statuses ?? []})`))
    .orderBy('t.position')
    .execute()
  return shareAccess(rows)
}

/** Results of a trial by their ids; the caller has authorised the runs. */
export async function listResults(db: Db, ids: readonly string[]) {
  return db
    .selectFrom('policy_trial_runs as t')
    .innerJoin('runs as r', 'r.id', 't.run_id')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .selectAll('t')
    .select(['w.id as workspace_id', 'w.name as workspace_name', 'r.message', 'r.created_at as run_created_at'])
    .where(sql<boolean>`t.id = any(${ids})`)
    .orderBy('t.position')
    .execute()
}
export type ResultRow = Awaited<ReturnType<typeof listResults>>[number]
