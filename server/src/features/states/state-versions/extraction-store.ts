import { type RawBuilder, sql } from 'kysely'
import { type Db, type Page, pageOffset } from '../../../db/db.ts'
import { type Slots, rowsOf, template } from '../../../db/template.ts'
import type { OutputRow, SealedOutput } from './sealed-outputs.ts'

type Output = ExtractionColumns['outputs'][number]

type Extracted = { id: string; extracted: ExtractionColumns }

const extraction = template<Extracted, never>((_, slot) => {
  const extracted = <Name extends keyof ExtractionColumns>(name: Name) => slot((values) => values.extracted[name])
  return sql<never>`
    with sv as (
      update state_versions set
        format = ${extracted('format')}::integer, engine_version = ${extracted('engineVersion')}, resources_processed = true,
        resource_count = ${extracted('resourceCount')}::integer, billable_count = ${extracted('billableCount')}::integer,
        modules = ${extracted('modules')}::jsonb, providers = ${extracted('providers')}::jsonb,
        resources = ${extracted('resources')}::jsonb, resource_list = ${extracted('resourceList')}::bytea,
        instances = ${extracted('instances')}::bytea
      where id = ${slot(({ id }) => id)} and not resources_processed
      returning id, workspace_id
    ), w as (
      update workspaces w set resource_count = ${extracted('resourceCount')}::integer
        from sv where w.id = sv.workspace_id and w.current_state_version_id = sv.id
    )
    ${insertOutputs(slot, (values) => values, sql`sv`)}`
})

/** Saves what was extracted from a finalized version, at most once. */
export async function saveExtraction(db: Db, id: string, extracted: ExtractionColumns) {
  await rowsOf(db, extraction({ id, extracted }))
}

/** SQL that adds outputs. Those that came with the request of the version stay: extracted ones don't replace them. */
export function insertOutputs<Values>(
  slot: Slots<Values>,
  read: (values: Values) => Extracted,
  from: RawBuilder<unknown>,
) {
  const outputs = <Name extends keyof Output>(name: Name) =>
    slot((values) => read(values).extracted.outputs.map((output) => output[name]))
  return sql`
    insert into state_version_outputs (id, state_version_id, name, type, detailed_type, sensitive, value)
    select o.id, ${slot((values) => read(values).id)}, o.name, o.type, o.detailed_type::jsonb, o.sensitive, o.value
      from ${from}, unnest(${outputs('id')}::text[], ${outputs('name')}::text[], ${outputs('type')}::text[],
        ${outputs('detailedType')}::text[], ${outputs('sensitive')}::boolean[], ${outputs('value')}::bytea[])
        o (id, name, type, detailed_type, sensitive, value)
    on conflict (state_version_id, name) do nothing`
}

/** The lists of resources of these versions: packed, or as JSON where they are short or of an earlier version of this server. */
export async function findResourceLists(db: Db, ids: readonly string[]) {
  const { rows } = await sql<{ id: string; packed: Buffer | null; json: string | null }>`
    select id, resource_list as packed, resources::text as json from state_versions
     where id = any(${ids}) and (resource_list is not null or resources is not null)`.execute(db)
  return rows
}

export async function findInstances(db: Db, id: string) {
  return db.selectFrom('state_versions').select(['instances', 'created_at']).where('id', '=', id).executeTakeFirst()
}

/** The outputs of one version by name; all of them, or one page. */
export async function listOutputs(db: Db, stateVersionId: string, page?: Page): Promise<OutputRow[]> {
  return db
    .selectFrom('state_version_outputs')
    .selectAll()
    .where('state_version_id', '=', stateVersionId)
    .orderBy('name')
    .$if(page !== undefined, (query) => query.limit(page?.size ?? 0).offset(page ? pageOffset(page) : 0))
    .execute()
}

/** Extracted data as columns; JSON as text. */
export type ExtractionColumns = {
  /** False until the content was extracted. */
  processed: boolean
  format: number | null
  engineVersion: string | null
  resourceCount: number
  billableCount: number | null
  modules: string | null
  providers: string | null
  /** A short list of resources, else null. */
  resources: string | null
  /** A long list of resources, packed, else null. */
  resourceList: Buffer | null
  instances: Buffer | null
  outputs: SealedOutput[]
}
