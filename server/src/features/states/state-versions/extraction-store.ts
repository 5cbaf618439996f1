import { type RawBuilder, sql } from 'kysely'
import { type Db, type Page, pageOffset } from '../../../db/db.ts'
import { type Slots, rowsOf, template } from '../../../db/template.ts'
import type { OutputRow, SealedOutput } from './sealed-outputs.ts'

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

type Extracted = { id: string; extracted: ExtractionColumns }

/** The columns of `state_versions` with extracted data, and their types. */
const COLUMNS = {
  processed: ['resources_processed', 'boolean'],
  format: ['format', 'integer'],
  engineVersion: ['engine_version', 'text'],
  resourceCount: ['resource_count', 'integer'],
  billableCount: ['billable_count', 'integer'],
  modules: ['modules', 'jsonb'],
  providers: ['providers', 'jsonb'],
  resources: ['resources', 'jsonb'],
  resourceList: ['resource_list', 'bytea'],
  instances: ['instances', 'bytea'],
} as const satisfies Record<Exclude<keyof ExtractionColumns, 'outputs'>, readonly [column: string, type: string]>

/** SQL lists of the columns with extracted data: their names, their values, and their assignments in an update. */
export function extractionSql<Values>(slot: Slots<Values>, read: (values: Values) => Extracted) {
  const columns = Object.entries(COLUMNS) as [keyof typeof COLUMNS, (typeof COLUMNS)[keyof typeof COLUMNS]][]
  const pairs = columns.map(([name, [column, type]]) => ({
    column: sql.ref(column),
    value: sql`${slot((values) => read(values).extracted[name])}::${sql.raw(type)}`,
  }))
  return {
    names: sql.join(pairs.map(({ column }) => column)),
    values: sql.join(pairs.map(({ value }) => value)),
    assignments: sql.join(pairs.map(({ column, value }) => sql`${column} = ${value}`)),
  }
}

/** SQL for `workspaces.state_providers`: the addresses of other registries than the public ones, which most states do not have. */
export function otherProviders(providers: RawBuilder<unknown>) {
  return sql`array(select distinct lower(address)
    from (select ${providers} as value) p
    cross join lateral jsonb_object_keys(case jsonb_typeof(p.value) when 'object' then p.value else '{}' end) key
    cross join lateral split_part(split_part(key, 'provider["', -1), '"]', 1) address
   where key like '%provider["%'
     and split_part(address, '/', 1) not in ('terraform.io', 'registry.terraform.io', 'registry.opentofu.org')
   order by 1)`
}

const extraction = template<Extracted, never>(
  (_, slot) => sql<never>`
    with sv as (
      update state_versions set ${extractionSql(slot, (values) => values).assignments}
      where id = ${slot(({ id }) => id)} and not resources_processed
      returning id, workspace_id, providers
    ), w as (
      update workspaces w set resource_count = ${slot(({ extracted }) => extracted.resourceCount)}::integer,
        state_providers = ${otherProviders(sql`sv.providers`)}
        from sv where w.id = sv.workspace_id and w.current_state_version_id = sv.id
    )
    ${insertOutputs(slot, (values) => values, sql`sv`)}`,
)

export async function saveExtraction(db: Db, id: string, extracted: ExtractionColumns) {
  await rowsOf(db, extraction({ id, extracted }))
}

/** SQL that inserts outputs. Extracted outputs do not replace those that came with the request of the version. */
export function insertOutputs<Values>(
  slot: Slots<Values>,
  read: (values: Values) => Extracted,
  from: RawBuilder<unknown>,
) {
  const outputs = (name: keyof SealedOutput) =>
    slot((values) => read(values).extracted.outputs.map((output) => output[name]))
  return sql`
    insert into state_version_outputs (id, state_version_id, name, type, detailed_type, sensitive, value)
    select o.id, ${slot((values) => read(values).id)}, o.name, o.type, o.detailed_type::jsonb, o.sensitive, o.value
      from ${from}, unnest(${outputs('id')}::text[], ${outputs('name')}::text[], ${outputs('type')}::text[],
        ${outputs('detailedType')}::text[], ${outputs('sensitive')}::boolean[], ${outputs('value')}::bytea[])
        o (id, name, type, detailed_type, sensitive, value)
    on conflict (state_version_id, name) do nothing`
}

/** The resource lists of these versions: packed, or as JSON if they are short or were stored by an earlier release. */
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
