import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type SampleRow = Selectable<Schema['samples']>

export async function findSample(db: Db, organizationId: string) {
  return db.selectFrom('samples').selectAll().where('organization_id', '=', organizationId).executeTakeFirst()
}

export async function lockSample(tx: Tx, organizationId: string) {
  return tx
    .selectFrom('samples')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .forUpdate()
    .executeTakeFirst()
}

/** Inserts the sample of an organization; undefined if it exists. Waits for concurrent inserts. */
export async function insertSample(tx: Tx, row: Insertable<Schema['samples']>) {
  return tx
    .insertInto('samples')
    .values(row)
    .onConflict((oc) => oc.column('organization_id').doNothing())
    .returningAll()
    .executeTakeFirst()
}

export async function updateSample(tx: Tx, id: string, changes: Updateable<Schema['samples']>) {
  await tx.updateTable('samples').set(changes).where('id', '=', id).execute()
}

export async function deleteSample(tx: Tx, id: string) {
  await tx.deleteFrom('samples').where('id', '=', id).execute()
}

export type NamedTable = 'projects' | 'workspaces' | 'tasks' | 'variable_sets'

type NamePrefix = { organizationId: string; prefix: string }

/** The names in a table with the lower-case prefix, in lower case. */
export async function listTakenNames(db: Db, table: NamedTable, { organizationId, prefix }: NamePrefix) {
  const { rows } = await sql<{ name: string }>`
    select lower(name) as name from ${sql.table(table)}
     where organization_id = ${organizationId} and starts_with(lower(name), ${prefix})`.execute(db)
  return new Set(rows.map(({ name }) => name))
}

/** The parts of the sample, regardless of access; a deleted part is undefined. */
export type SampleContents = Awaited<ReturnType<typeof findContents>>

export async function findContents(db: Db, sample: SampleRow) {
  const network = await findWorkspace(db, sample.network_workspace_id)
  const app = await findWorkspace(db, sample.app_workspace_id)
  const triggerRow =
    network &&
    app &&
    (await db
      .selectFrom('run_triggers')
      .select('id')
      .where('workspace_id', '=', app.id)
      .where('source_id', '=', network.id)
      .executeTakeFirst())
  const trigger = triggerRow && { id: triggerRow.id, name: `${network.name} → ${app.name}` }
  const project = await findProject(db, sample)
  const set = await db
    .selectFrom('variable_sets')
    .select(['id', 'name'])
    .where('id', '=', sample.variable_set_id)
    .executeTakeFirst()
  const task = await db
    .selectFrom('tasks')
    .select(['id', 'name', 'url'])
    .where('id', '=', sample.task_id)
    .executeTakeFirst()
  return { network, app, trigger, project, set, task, attachments: await listAttachments(db, sample.task_id) }
}

async function findWorkspace(db: Db, id: string | null) {
  return db
    .selectFrom('workspaces as w')
    .select(['w.id', 'w.name', 'w.resource_count'])
    .select([
      sql<number>`(select count(*) from runs r where r.workspace_id = w.id)`.as('runs'),
      sql<string | null>`(select r.id from runs r where r.workspace_id = w.id order by r.number desc limit 1)`.as(
        'run_id',
      ),
    ])
    .where('w.id', '=', id)
    .executeTakeFirst()
}

/** The project with the facts that prevent its deletion: being the default project, and other contents. */
async function findProject(db: Db, sample: SampleRow) {
  const { network_workspace_id: network, app_workspace_id: app } = sample
  return db
    .selectFrom('projects as p')
    .innerJoin('organizations as o', 'o.id', 'p.organization_id')
    .select(['p.id', 'p.name'])
    .select([
      sql<boolean>`p.id is not distinct from o.default_project_id`.as('is_default'),
      sql<number>`(select count(*) from workspaces w where w.project_id = p.id
        and w.id is distinct from ${network} and w.id is distinct from ${app})`.as('foreign_workspaces'),
      sql<number>`(select count(*) from variable_sets s where s.project_id = p.id
        and s.id is distinct from ${sample.variable_set_id})`.as('foreign_sets'),
    ])
    .where('p.id', '=', sample.project_id)
    .executeTakeFirst()
}

async function listAttachments(db: Db, taskId: string | null) {
  return db
    .selectFrom('workspace_tasks as wt')
    .innerJoin('workspaces as w', 'w.id', 'wt.workspace_id')
    .select(['wt.id', 'wt.workspace_id', 'w.name as workspace_name'])
    .where('wt.task_id', '=', taskId)
    .orderBy('w.name')
    .execute()
}

/** Whether a workspace has a configuration version, with or without an archive. */
export async function hasConfiguration(db: Db, workspaceId: string) {
  const row = await db
    .selectFrom('configuration_versions')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export async function findSampleOf(db: Db, organizationName: string) {
  return db
    .selectFrom('samples as s')
    .innerJoin('organizations as o', 'o.id', 's.organization_id')
    .select(['s.id', 's.task_id'])
    .where(sql<boolean>`lower(o.name) = lower(${organizationName})`)
    .executeTakeFirst()
}
