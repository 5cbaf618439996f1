import { sql } from 'kysely'
import { type AuditRow, eventInsert } from '../../../audit/store.ts'
import type { Db } from '../../../db/db.ts'
import type { ExtractionColumns } from './extraction-columns.ts'
import { insertOutputs } from './extraction-store.ts'
import { COLUMNS, type PresentedRow } from './store.ts'

/** A workspace's states and lock as they were when they were checked. */
export type CheckedWorkspace = {
  id: string
  state_revision: number
  locked_by_id: string | null
  pending_state_version_id: string | null
}

/** A version to be added. Content that is kept in rows comes as sealed bytes. */
export type NewVersion = {
  id: string
  serial: number
  md5: string
  lineage: string | null
  /** Null for a pending version. */
  size: number | null
  intermediate: boolean
  rawLocation: string | null
  rawSealed: Buffer | undefined
  jsonLocation: string | null
  jsonSealed: Buffer | undefined
  createdByUserId: string | null
  lockHolderId: string | null
  runId: string | null
  rollbackOfId: string | null
  createdAt: Date
  extracted: ExtractionColumns
  audit: AuditRow
}

/**
 * Adds a version and makes it the workspace's current, latest or pending one, in one statement. Returns undefined, without any
 * change, when the workspace's states or lock have changed since they were `checked`: the caller checks again. The update of
 * the workspace's row orders concurrent writers.
 */
export async function insertStateVersion(
  db: Db,
  checked: CheckedWorkspace,
  version: NewVersion,
): Promise<PresentedRow | undefined> {
  const pending = version.size === null
  const { extracted } = version
  const { rows } = await sql<PresentedRow>`
    with w as (
      update workspaces set
        state_revision = state_revision + 1,
        state_version_count = state_version_count + 1,
        pending_state_version_id = ${pending ? sql`${version.id}` : sql`null`}
        ${pending ? sql`` : becomesLatest(version, extracted.resourceCount)}
      where id = ${checked.id} and state_revision = ${checked.state_revision}
        and locked_by_id is not distinct from ${checked.locked_by_id}
      returning id, state_revision
    ) ${superseded(checked.pending_state_version_id)}, contents as (
      insert into state_contents (state_version_id, kind, sealed)
      select ${version.id}, kind, sealed
        from w, (values ('raw', ${version.rawSealed ?? null}::bytea), ('json', ${version.jsonSealed ?? null}::bytea)) c (kind, sealed)
       where sealed is not null
    ), outputs as (
      ${insertOutputs(version.id, extracted, sql`w`)}
    ), event as (
      ${eventInsert(version.audit, sql`w`)}
    )
    insert into state_versions as sv (
      id, workspace_id, revision, status, serial, md5, lineage, size, intermediate, raw_location, json_location, awaits_json,
      format,
      engine_version, resources_processed, resource_count, billable_count, modules, providers, resources, resource_list,
      instances,
      created_by_user_id, lock_holder_id, run_id, rollback_of_id, created_at)
    select ${version.id}, w.id, w.state_revision, ${pending ? 'pending' : 'finalized'}, ${version.serial}::bigint,
      ${version.md5}, ${version.lineage}, ${version.size}::bigint, ${version.intermediate}::boolean, ${version.rawLocation},
      ${version.jsonLocation},
      ${pending && version.jsonLocation === null}::boolean, ${extracted.format}::integer, ${extracted.engineVersion}, ${extracted.processed}::boolean,
      ${extracted.resourceCount}::integer, ${extracted.billableCount}::integer, ${extracted.modules}::jsonb,
      ${extracted.providers}::jsonb, ${extracted.resources}::jsonb, ${extracted.resourceList}::bytea,
      ${extracted.instances}::bytea,
      ${version.createdByUserId}, ${version.lockHolderId}, ${version.runId}, ${version.rollbackOfId},
      ${version.createdAt}::timestamptz
    from w
    returning ${COLUMNS}`.execute(db)
  const [row] = rows
  const outputs = extracted.outputs.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return row && { ...row, output_ids: outputs.map((output) => output.id) }
}

/**
 * Gives a pending version its content: it is finalized, and becomes current or the latest snapshot. Returns false when the
 * workspace's states or lock have changed since they were `checked`.
 */
export async function finalizeStateVersion(
  db: Db,
  checked: CheckedWorkspace,
  version: {
    id: string
    serial: number
    md5: string
    lineage: string | null
    size: number
    intermediate: boolean
    createdAt: Date
    rawLocation: string
    rawSealed: Buffer | undefined
    extracted: ExtractionColumns
    audit: AuditRow
  },
): Promise<boolean> {
  const { extracted } = version
  const { rows } = await sql`
    with w as (
      update workspaces set
        state_revision = state_revision + 1,
        pending_state_version_id = null
        ${becomesLatest(version, extracted.resourceCount)}
      where id = ${checked.id} and state_revision = ${checked.state_revision} and pending_state_version_id = ${version.id}
        and locked_by_id is not distinct from ${checked.locked_by_id}
      returning id
    ), contents as (
      insert into state_contents (state_version_id, kind, sealed)
      select ${version.id}, 'raw', ${version.rawSealed ?? null}::bytea from w
       where ${version.rawSealed !== undefined}::boolean
    ), outputs as (
      ${insertOutputs(version.id, extracted, sql`w`)}
    ), event as (
      ${eventInsert(version.audit, sql`w`)}
    )
    update state_versions sv set
      status = 'finalized', intermediate = ${version.intermediate}::boolean, size = ${version.size}::bigint, lineage = ${version.lineage}, raw_location = ${version.rawLocation},
      format = ${extracted.format}::integer, engine_version = ${extracted.engineVersion},
      resources_processed = ${extracted.processed}::boolean, resource_count = ${extracted.resourceCount}::integer,
      billable_count = ${extracted.billableCount}::integer, modules = ${extracted.modules}::jsonb,
      providers = ${extracted.providers}::jsonb, resources = ${extracted.resources}::jsonb,
      resource_list = ${extracted.resourceList}::bytea, instances = ${extracted.instances}::bytea
    from w
    where sv.id = ${version.id} and sv.status = 'pending'
    returning sv.id`.execute(db)
  return rows.length > 0
}

/** SQL that discards the version whose content was awaited. */
function superseded(pendingId: string | null) {
  if (pendingId === null) return sql``
  return sql`, superseded as (
      update state_versions sv set status = 'discarded' from w where sv.id = ${pendingId} and sv.status = 'pending'
    )`
}

function becomesLatest(
  version: Pick<NewVersion, 'id' | 'serial' | 'md5' | 'lineage' | 'intermediate' | 'createdAt'>,
  resourceCount: number,
) {
  const becomesCurrent = sql`current_state_version_id = ${version.id}, resource_count = ${resourceCount}::integer,
    latest_change_at = ${version.createdAt}::timestamptz,`
  return sql`,
    ${version.intermediate ? sql`` : becomesCurrent}
    latest_state_version_id = ${version.id},
    latest_state_serial = ${version.serial}::bigint,
    latest_state_md5 = ${version.md5},
    latest_state_lineage = ${version.lineage}`
}
