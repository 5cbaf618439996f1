import { type RawBuilder, sql } from 'kysely'
import { type AuditRow, eventInsert, eventSlots } from '../../../audit/store.ts'
import type { Db } from '../../../db/db.ts'
import { type Slots, rowsOf, templateOf } from '../../../db/template.ts'
import type { WorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { type ExtractionColumns, extractionSql, insertOutputs, otherProviders } from './extraction-store.ts'
import { COLUMNS, type PresentedRow } from './store.ts'

/** A workspace's states and lock at the time of the check. */
export type CheckedWorkspace = Pick<WorkspaceRow, 'id' | 'state_revision' | 'locked_by_id' | 'pending_state_version_id'>

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

/** The content of a pending version, and the version's properties. */
type Content = Pick<
  NewVersion,
  'id' | 'serial' | 'md5' | 'lineage' | 'intermediate' | 'rawSealed' | 'createdAt' | 'extracted' | 'audit'
> & { size: number; rawLocation: string }

function fieldsOf<Values, Fields>(slot: Slots<Values>, read: (values: Values) => Fields) {
  return <Name extends keyof Fields>(name: Name) => slot((values) => read(values)[name])
}

type Addition = { checked: CheckedWorkspace; version: NewVersion }
type AdditionForm = { pending: boolean; intermediate: boolean; supersedes: boolean }

const addition = templateOf<AdditionForm, Addition, PresentedRow>(({ pending, intermediate, supersedes }, _, slot) => {
  const checked = fieldsOf(slot, (values) => values.checked)
  const version = fieldsOf(slot, (values) => values.version)
  const extracted = extractionSql(slot, (values) => values.version)
  const id = version('id')
  const awaitsJson = slot(({ version }) => version.size === null && version.jsonLocation === null)
  return sql<PresentedRow>`
    with w as (
      update workspaces set
        state_revision = state_revision + 1,
        state_version_count = state_version_count + 1,
        pending_state_version_id = ${pending ? id : sql`null`}
        ${pending ? sql`` : becomesLatest(slot, { intermediate })}
      where id = ${checked('id')} and state_revision = ${checked('state_revision')}
        and locked_by_id is not distinct from ${checked('locked_by_id')}
      returning id, state_revision
    ) ${supersedes ? superseded(checked('pending_state_version_id')) : sql``}, contents as (
      insert into state_contents (state_version_id, kind, sealed)
      select ${id}, kind, sealed
        from w, (values ('raw', ${version('rawSealed')}::bytea), ('json', ${version('jsonSealed')}::bytea)) c (kind, sealed)
       where sealed is not null
    ), ${outputsAndEvent(slot)}
    insert into state_versions as sv (
      id, workspace_id, revision, status, serial, md5, lineage, size, intermediate, raw_location, json_location, awaits_json,
      ${extracted.names}, created_by_user_id, lock_holder_id, run_id, rollback_of_id, created_at)
    select ${id}, w.id, w.state_revision, ${sql.lit(pending ? 'pending' : 'finalized')}, ${version('serial')}::bigint,
      ${version('md5')}, ${version('lineage')}, ${version('size')}::bigint, ${version('intermediate')}::boolean,
      ${version('rawLocation')}, ${version('jsonLocation')}, ${awaitsJson}::boolean,
      ${extracted.values}, ${version('createdByUserId')}, ${version('lockHolderId')}, ${version('runId')},
      ${version('rollbackOfId')}, ${version('createdAt')}::timestamptz
    from w
    returning ${COLUMNS}`
})

/**
 * Adds a version and makes it the workspace's current, latest or pending one, in one statement. Returns undefined, without any change,
 * if the workspace's states or lock have changed since they were `checked`: the caller checks again. The update of the workspace's row
 * orders concurrent writers.
 */
export async function insertStateVersion(db: Db, checked: CheckedWorkspace, version: NewVersion) {
  const form = {
    pending: version.size === null,
    intermediate: version.intermediate,
    supersedes: checked.pending_state_version_id !== null,
  }
  const [row] = await rowsOf(db, addition(form, { checked, version }))
  const outputs = version.extracted.outputs.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return row && { ...row, output_ids: outputs.map((output) => output.id) }
}

type Finalization = { checked: CheckedWorkspace; version: Content }

const finalization = templateOf<{ intermediate: boolean }, Finalization, { id: string }>((form, _, slot) => {
  const checked = fieldsOf(slot, (values) => values.checked)
  const version = fieldsOf(slot, (values) => values.version)
  const id = version('id')
  return sql<{ id: string }>`
    with w as (
      update workspaces set
        state_revision = state_revision + 1,
        pending_state_version_id = null
        ${becomesLatest(slot, form)}
      where id = ${checked('id')} and state_revision = ${checked('state_revision')}
        and pending_state_version_id = ${id} and locked_by_id is not distinct from ${checked('locked_by_id')}
      returning id
    ), contents as (
      insert into state_contents (state_version_id, kind, sealed)
      select ${id}, 'raw', ${version('rawSealed')}::bytea from w
       where ${slot(({ version }) => version.rawSealed !== undefined)}::boolean
    ), ${outputsAndEvent(slot)}
    update state_versions sv set
      status = 'finalized', intermediate = ${version('intermediate')}::boolean, size = ${version('size')}::bigint,
      lineage = ${version('lineage')}, raw_location = ${version('rawLocation')},
      ${extractionSql(slot, (values) => values.version).assignments}
    from w
    where sv.id = ${id} and sv.status = 'pending'
    returning sv.id`
})

/** Finalizes a pending version. Returns false if the workspace's states or lock have changed since they were `checked`. */
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

type Versioned = {
  version: Pick<NewVersion, 'id' | 'serial' | 'md5' | 'lineage' | 'createdAt' | 'extracted' | 'audit'>
}

function outputsAndEvent<Values extends Versioned>(slot: Slots<Values>) {
  const event = eventSlots(slot, ({ version }) => version.audit)
  return sql`outputs as (${insertOutputs(slot, ({ version }) => version, sql`w`)}),
    event as (${eventInsert(event, sql`w`)})`
}

/** SQL that makes a version the latest one, and also the current one unless it is an intermediate snapshot. */
function becomesLatest<Values extends Versioned>(slot: Slots<Values>, { intermediate }: { intermediate: boolean }) {
  const version = fieldsOf(slot, (values) => values.version)
  const id = version('id')
  const becomesCurrent = sql`current_state_version_id = ${id},
    resource_count = ${slot(({ version }) => version.extracted.resourceCount)}::integer,
    state_providers = ${otherProviders(sql`${slot(({ version }) => version.extracted.providers)}::jsonb`)},
    latest_change_at = ${version('createdAt')}::timestamptz,`
  return sql`,
    ${intermediate ? sql`` : becomesCurrent}
    latest_state_version_id = ${id},
    latest_state_serial = ${version('serial')}::bigint,
    latest_state_md5 = ${version('md5')},
    latest_state_lineage = ${version('lineage')}`
}
