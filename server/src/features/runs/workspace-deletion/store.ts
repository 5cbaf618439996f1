import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** The teams with access to a workspace or its project. */
export async function listTeamIds(db: Db, workspaceId: string) {
  const { rows } = await sql<{ team_id: string }>`
    select team_id from team_workspaces where workspace_id = ${workspaceId}
     union select p.team_id from team_projects p join workspaces w on w.project_id = p.project_id where w.id = ${workspaceId}`.execute(
    db,
  )
  return rows.map(({ team_id: id }) => id)
}

/** The run triggers from and to a workspace, each with the workspace at its other end. */
export async function listTriggersAround(db: Db, workspaceId: string) {
  const { rows } = await sql<{ id: string; other_id: string }>`
    select id, case ${workspaceId} when source_id then workspace_id else source_id end as other_id from run_triggers
     where workspace_id = ${workspaceId} or source_id = ${workspaceId}`.execute(db)
  return rows
}
