import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** The teams with access to a workspace or its project. */
export async function listTeamIds(db: Db, workspaceId: string) {
  const { rows } = await sql<{ team_id: string }>`
    select team_id from team_workspaces where workspace_id = ${workspaceId}
     union select p.team_id from team_projects p join workspaces w on w.project_id = p.project_id
            where w.id = ${workspaceId}`.execute(db)
  return rows.map(({ team_id: id }) => id)
}

/** Runs in other workspaces that triggered runs in the workspace, which disappear from their trigger chains. */
export async function listSourceRuns(db: Db, workspaceId: string) {
  const { rows } = await sql<{ id: string; workspace_id: string; organization_id: string }>`
    select distinct source.id, source.workspace_id, source.organization_id
      from runs r join trigger_firings f on f.run_id = r.id join runs source on source.id = f.source_run_id
     where r.workspace_id = ${workspaceId} and source.workspace_id <> ${workspaceId}`.execute(db)
  return rows
}

/** The inbound and outbound run triggers of a workspace, each with the workspace at its other end. */
export async function listTriggersAround(db: Db, workspaceId: string) {
  const { rows } = await sql<{ id: string; other_id: string }>`
    select id, case ${workspaceId} when source_id then workspace_id else source_id end as other_id from run_triggers
     where workspace_id = ${workspaceId} or source_id = ${workspaceId}`.execute(db)
  return rows
}
