import { type RawBuilder, sql } from 'kysely'
import { type AuditRow, eventInsert, eventSlots } from '../../../audit/store.ts'
import type { Db } from '../../../db/db.ts'
import { type Slots, rowsOf, templateOf } from '../../../db/template.ts'
import { type ExtractionColumns, insertOutputs } from './extraction-store.ts'
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

type Addition = { checked: CheckedWorkspace; version: NewVersion }
type AdditionForm = { pending: boolean; intermediate: boolean; supersedes: boolean }

const addition = templateOf<AdditionForm, Addition, PresentedRow>(({ pending, intermediate, supersedes }, _, slot) => {
  const id = slot(({ version }) => version.id)
  const version = <Name extends keyof NewVersion>(name: Name) => slot(({ version }) => version[name])
  const extracted = <Name extends keyof ExtractionColumns>(name: Name) => slot(({ version }) => version.extracted[name])
  return sql<PresentedRow>`
    with w as (
      update workspaces set
        state_revision = state_revision + 1,
        state_version_count = state_version_count + 1,
        pending_state_version_id = ${pending ? id : sql`null`}
        ${pending ? sql`` : becomesLatest({ intermediate }, slot, ({ version }) => version)}
      where id = ${slot(({ checked }) => checked.id)} and state_revision = ${slot(({ checked }) => checked.state_revision)}
        and locked_by_id is not distinct from ${slot(({ checked }) => checked.locked_by_id)}
      returning id, state_revision
    ) ${supersedes ? superseded(slot(({ checked }) => checked.pending_state_version_id)) : sql``}, contents as (
      insert into state_contents (state_version_id, kind, sealed)
      select ${id}, kind, sealed
        from w, (values ('raw', ${version('rawSealed')}::bytea), ('json', ${version('jsonSealed')}::bytea)) c (kind, sealed)
       where sealed is not null
    ), outputs as (
      ${insertOutputs(slot, ({ version }) => version, sql`w`)}
    ), event as (
      ${eventInsert(
        eventSlots(slot, ({ version }) => version.audit),
        sql`w`,
      )}
    )
    insert into state_versions as sv (
      id, workspace_id, revision, status, serial, md5, lineage, size, intermediate, raw_location, json_location, awaits_json,
      format,
      engine_version, resources_processed, resource_count, billable_count, modules, providers, resources, resource_list,
      instances,
      created_by_user_id, lock_holder_id, run_id, rollback_of_id, created_at)
    select ${id}, w.id, w.state_revision, ${sql.lit(pending ? 'pending' : 'finalized')}, ${version('serial')}::bigint,
      ${version('md5')}, ${version('lineage')}, ${version('size')}::bigint, ${version('intermediate')}::boolean, ${version('rawLocation')},
      ${version('jsonLocation')},
      ${slot(({ version }) => version.size === null && version.jsonLocation === null)}::boolean, ${extracted('format')}::integer,
      ${extracted('engineVersion')}, ${extracted('processed')}::boolean,
      ${extracted('resourceCount')}::integer, ${extracted('billableCount')}::integer, ${extracted('modules')}::jsonb,
      ${extracted('providers')}::jsonb, ${extracted('resources')}::jsonb, ${extracted('resourceList')}::bytea,
      ${extracted('instances')}::bytea,
      ${version('createdByUserId')}, ${version('lockHolderId')}, ${version('runId')}, ${version('rollbackOfId')},
      ${version('createdAt')}::timestamptz
    from w
    returning ${COLUMNS}`
})

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
  const form = {
    pending: version.size === null,
    intermediate: version.intermediate,
    supersedes: checked.pending_state_version_id !== null,
  }
  const [row] = await rowsOf(db, addition(form, { checked, version }))
  const outputs = version.extracted.outputs.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return row && { ...row, output_ids: outputs.map((output) => output.id) }
}

type Content = {
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
}

const finalization = templateOf<
  { intermediate: boolean },
  { checked: CheckedWorkspace; version: Content },
  { id: string }
>(({ intermediate }, _, slot) => {
  const id = slot(({ version }) => version.id)
  const version = <Name extends keyof Content>(name: Name) => slot(({ version }) => version[name])
  const extracted = <Name extends keyof ExtractionColumns>(name: Name) => slot(({ version }) => version.extracted[name])
  return sql<{ id: string }>`
    with w as (
      update workspaces set
        state_revision = state_revision + 1,
        pending_state_version_id = null
        ${becomesLatest({ intermediate }, slot, ({ version }) => version)}
      where id = ${slot(({ checked }) => checked.id)} and state_revision = ${slot(({ checked }) => checked.state_revision)}
        and pending_state_version_id = ${id} and locked_by_id is not distinct from ${slot(({ checked }) => checked.locked_by_id)}
      returning id
    ), contents as (
      insert into state_contents (state_version_id, kind, sealed)
      select ${id}, 'raw', ${version('rawSealed')}::bytea from w
       where ${slot(({ version }) => version.rawSealed !== undefined)}::boolean
    ), outputs as (
      ${insertOutputs(slot, ({ version }) => version, sql`w`)}
    ), event as (
      ${eventInsert(
        eventSlots(slot, ({ version }) => version.audit),
        sql`w`,
      )}
    )
    update state_versions sv set
      status = 'finalized', intermediate = ${version('intermediate')}::boolean, size = ${version('size')}::bigint,
      lineage = ${version('lineage')}, raw_location = ${version('rawLocation')},
      format = ${extracted('format')}::integer, engine_version = ${extracted('engineVersion')},
      resources_processed = ${extracted('processed')}::boolean, resource_count = ${extracted('resourceCount')}::integer,
      billable_count = ${extracted('billableCount')}::integer, modules = ${extracted('modules')}::jsonb,
      providers = ${extracted('providers')}::jsonb, resources = ${extracted('resources')}::jsonb,
      resource_list = ${extracted('resourceList')}::bytea, instances = ${extracted('instances')}::bytea
    from w
    where sv.id = ${id} and sv.status = 'pending'
    returning sv.id`
})

/**
 * Gives a pending version its content: it is finalized, and becomes current or the latest snapshot. Returns false when the
 * workspace's states or lock have changed since they were `checked`.
 */
export async function finalizeStateVersion(db: Db, checked: CheckedWorkspace, version: Content): Promise<boolean> {
  const rows = await rowsOf(db, finalization({ intermediate: version.intermediate }, { checked, version }))
  return rows.length > 0
}

/** SQL that discards the version whose content was awaited. */
function superseded(pendingId: RawBuilder<unknown>) {
  return sql`, superseded as (
      update state_versions sv set status = 'discarded' from w where sv.id = ${pendingId} and sv.status = 'pending'
    )`
}

type Finalized = Pick<NewVersion, 'id' | 'serial' | 'md5' | 'lineage' | 'createdAt' | 'extracted'>

/** SQL that makes a version the latest one, and also the current one unless it is an intermediate snapshot. */
function becomesLatest<Values>(
  { intermediate }: { intermediate: boolean },
  slot: Slots<Values>,
  read: (values: Values) => Finalized,
) {
  const id = slot((values) => read(values).id)
  const becomesCurrent = sql`current_state_version_id = ${id}, resource_count = ${slot((values) => read(values).extracted.resourceCount)}::integer,
    latest_change_at = ${slot((values) => read(values).createdAt)}::timestamptz,`
  return sql`,
    ${intermediate ? sql`` : becomesCurrent}
    latest_state_version_id = ${id},
    latest_state_serial = ${slot((values) => read(values).serial)}::bigint,
    latest_state_md5 = ${slot((values) => read(values).md5)},
    latest_state_lineage = ${slot((values) => read(values).lineage)}`
}
