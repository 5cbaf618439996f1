import { type RawBuilder, sql } from 'kysely'
import type { AccessColumn } from '../../../auth/access-context.ts'
import { type ActorInSql, userInSql, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import type { Db } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import { countRows } from '../../workspaces/workspaces/store.ts'
import type { OutputRow } from '../state-versions/sealed-outputs.ts'

export async function findOutput(db: Db, actor: Actor, id: string) {
  if (actor.kind === 'user') return findForUser(db, { userId: actor.userId, id })
  const { rows } = await selectOutput(actor, id).execute(db)
  return rows[0]
}

export type FoundOutput = OutputRow & {
  status: string
  workspace_id: string
  organization_id: string
  access: AccessColumn
}

function selectOutput(actor: ActorInSql, id: string | RawBuilder<string>) {
  return sql<FoundOutput>`
    select o.*, sv.status, w.id as workspace_id, w.organization_id, ${workspaceAccessColumn(actor)} as access
      from state_version_outputs o
      join state_versions sv on sv.id = o.state_version_id
      join workspaces w on w.id = sv.workspace_id
     where o.id = ${id}`
}

const findForUser = lookup(['userId', 'id'], (_, { userId, id }) => selectOutput(userInSql(userId), id))

export async function listOutputsOf(db: Db, stateVersionIds: readonly string[]) {
  const { rows } = await sql<OutputRow & { workspace_id: string }>`
    select o.*, sv.workspace_id
      from state_versions sv join state_version_outputs o on o.state_version_id = sv.id
     where sv.id = any(${stateVersionIds})
     order by o.name`.execute(db)
  return rows
}

export async function listCurrentOutputsOf(db: Db, workspaceIds: readonly string[]) {
  const { rows } = await sql<OutputRow & { workspace_id: string }>`
    select o.*, w.id as workspace_id
      from workspaces w join state_version_outputs o on o.state_version_id = w.current_state_version_id
     where w.id = any(${workspaceIds})
     order by o.name`.execute(db)
  return rows
}

export async function countOutputs(db: Db, stateVersionId: string) {
  return countRows(db, sql`state_version_outputs where state_version_id = ${stateVersionId}`)
}
