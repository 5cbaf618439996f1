import type { Db } from '../../../db/db.ts'
import { tagNames } from '../../workspaces/workspaces/store.ts'

/** The facts to which a run's policies may refer, with the job of its plan. */
export async function findPolicyFacts(db: Db, runId: string) {
  return db
    .selectFrom('runs as r')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .innerJoin('projects as p', 'p.id', 'w.project_id')
    .innerJoin('organizations as o', 'o.id', 'r.organization_id')
    .innerJoin('phases as plan', (join) => join.onRef('plan.run_id', '=', 'r.id').on('plan.kind', '=', 'plan'))
    .leftJoin('users as u', 'u.id', 'r.created_by_user_id')
    .leftJoin('ingress_attributes as ia', 'ia.id', 'r.ingress_attributes_id')
    .leftJoin('repositories as repo', 'repo.id', 'w.repository_id')
    .select(['r.id', 'r.created_at', 'r.message', 'r.is_destroy', 'r.refresh', 'r.refresh_only', 'r.replace_addrs'])
    .select(['r.plan_only', 'r.target_addrs', 'r.variables', 'r.workspace_id', 'r.organization_id', 'w.project_id'])
    .select(['r.execution_mode', 'u.username', 'ia.commit_sha', 'o.name as organization_name'])
    .select(['w.name as workspace_name', 'w.created_at as workspace_created_at', 'w.description', 'w.auto_apply'])
    .select(['w.working_directory', 'w.vcs_branch', 'w.vcs_submodules', 'p.name as project_name'])
    .select(['repo.identifier', 'repo.display_identifier', 'plan.job_id', 'plan.json_deleted_at'])
    .select(tagNames.as('tag_names'))
    .where('r.id', '=', runId)
    .executeTakeFirst()
}
