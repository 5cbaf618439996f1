import { sql } from 'kysely'
import type { ProjectGrant, WorkspaceGrant } from '../../../auth/grants.ts'
import type { Db } from '../../../db/db.ts'

export type TeamGrants = {
  id: string
  is_owners: boolean
  /** As `teams.organization_access`. */
  access: number
  project: ProjectGrant | null
  workspace: WorkspaceGrant | null
}

export async function listTeamGrants(db: Db, workspaceId: string): Promise<TeamGrants[]> {
  const { rows } = await sql<TeamGrants>`
    select t.id, t.is_owners, t.organization_access as access, to_jsonb(p) as project, to_jsonb(g) as workspace
      from workspaces w
      join teams t on t.organization_id = w.organization_id
      left join team_projects p on p.team_id = t.id and p.project_id = w.project_id
      left join team_workspaces g on g.team_id = t.id and g.workspace_id = w.id
     where w.id = ${workspaceId}
       and (t.is_owners or t.manage_projects or t.manage_workspaces or t.read_workspaces
            or p.team_id is not null or g.team_id is not null)
     order by t.name, t.id`.execute(db)
  return rows
}
