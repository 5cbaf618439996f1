import { type Selectable, sql } from 'kysely'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type NewRow, insertRows } from '../../../db/sql.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'

/** The published thing: a module of the registry, or a policy set. */
export type Subject = { moduleId: string } | { policySetId: string }

const isOf = (subject: Subject) =>
  'moduleId' in subject
    ? sql<boolean>`p.registry_module_id = ${subject.moduleId}`
    : sql<boolean>`p.policy_set_id = ${subject.policySetId}`

/** A module that is published from a repository. */
export type ModuleRow = NonNullable<Awaited<ReturnType<typeof findModule>>>

function selectModules(db: Db) {
  return db
    .selectFrom('registry_modules as m')
    .select(['m.id', 'm.organization_id', 'm.name', 'm.repository_id', 'm.status'])
    .select(['m.vcs_branch', 'm.vcs_tags', 'm.vcs_source_directory', 'm.vcs_tag_prefix'])
    .where('m.repository_id', 'is not', null)
}

export async function findModule(db: Db, id: string) {
  return selectModules(db).where('m.id', '=', id).executeTakeFirst()
}

export async function listModules(db: Db, repositoryId: string): Promise<ModuleRow[]> {
  return selectModules(db).where('m.repository_id', '=', repositoryId).orderBy('m.id').execute()
}

/** A policy set that is published from a repository. */
export type PolicySetRow = NonNullable<Awaited<ReturnType<typeof findPolicySet>>>

function selectPolicySets(db: Db) {
  return db
    .selectFrom('policy_sets as s')
    .innerJoin('repositories as r', 'r.id', 's.repository_id')
    .select(['s.id', 's.organization_id', 's.name', 's.repository_id', 's.vcs_submodules'])
    .select(['s.policies_path', 's.policy_update_patterns', 's.vcs_branch'])
    .leftJoin('policy_set_versions as v', 'v.id', 's.current_version_id')
    .select(['v.commit_sha as current_commit', 'v.policies_path as current_path'])
    .select((eb) => eb.fn.coalesce('s.vcs_branch', 'r.default_branch').as('branch'))
}

export async function findPolicySet(db: Db, id: string) {
  return selectPolicySets(db).where('s.id', '=', id).executeTakeFirst()
}

export async function listPolicySets(db: Db, repositoryId: string): Promise<PolicySetRow[]> {
  return selectPolicySets(db).where('s.repository_id', '=', repositoryId).orderBy('s.id').execute()
}

/** Versions of a module, with the commits they are from. */
export async function listVersions(db: Db, moduleId: string, versions: readonly string[]) {
  return db
    .selectFrom('registry_module_versions')
    .select(['version', 'status', 'commit_sha'])
    .where('registry_module_id', '=', moduleId)
    .where(sql<boolean>`version = any(${versions})`)
    .execute()
}

/** Versions of a module whose commits could not be published. */
export async function listUnpublished(db: Db, moduleId: string) {
  const rows = await db
    .selectFrom('registry_module_versions')
    .select(['version', 'commit_sha'])
    .where('registry_module_id', '=', moduleId)
    .where('source', '=', 'vcs')
    .where('status', '<>', 'ok')
    .orderBy('created_at')
    .execute()
  return rows.flatMap(({ version, commit_sha: sha }) => (sha === null ? [] : [{ version, sha }]))
}

/** Inserts publications in this order; those of a delivery that was handled before are left out. */
export async function insertPublications(tx: Tx, rows: readonly NewRow<'vcs_publications'>[]) {
  if (rows.length === 0) return
  await insertRows(tx, 'vcs_publications', rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Versions of a module that are about to be published. */
export async function listPendingVersions(db: Db, moduleId: string) {
  const rows = await db
    .selectFrom('vcs_publications')
    .select('version')
    .where('registry_module_id', '=', moduleId)
    .where('status', '=', sql.lit('pending' as const))
    .execute()
  return rows.map(({ version }) => version ?? '')
}

export type PendingRow = Selectable<Schema['vcs_publications']> & {
  commit_sha: string
  event: HostEvent | null
}

/** The next publication of a module or policy set, with the event that it comes from. */
export async function findNextPending(db: Db, subject: Subject): Promise<PendingRow | undefined> {
  return db
    .selectFrom('vcs_publications as p')
    .leftJoin('vcs_deliveries as d', 'd.id', 'p.delivery_id')
    .selectAll('p')
    .select('d.event')
    .where(isOf(subject))
    .where('p.status', '=', sql.lit('pending' as const))
    .orderBy('p.seq')
    .limit(1)
    .$castTo<PendingRow>()
    .executeTakeFirst()
}

/** The latest commit of a policy set that was published. */
export async function findLatestPublished(db: Db, policySetId: string) {
  return db
    .selectFrom('vcs_publications')
    .select(['commit_sha', 'reported_at'])
    .where('policy_set_id', '=', policySetId)
    .where('status', '=', 'published')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Whether another publication has published the version. */
export async function isPublishedFor(db: Db, { id, registry_module_id: moduleId, version }: PendingRow) {
  const other = await db
    .selectFrom('vcs_publications')
    .select('id')
    .where('registry_module_id', '=', moduleId)
    .where('version', '=', version)
    .where('status', '=', 'published')
    .where('id', '<>', id)
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}

type Ended = Pick<Selectable<Schema['vcs_publications']>, 'status' | 'reason' | 'detail'>

/** Ends a pending publication; false if another job has ended it. */
export async function endPublication(tx: Tx, id: string, ended: Ended & { now: Date }) {
  const { now, ...columns } = ended
  const { numUpdatedRows } = await tx
    .updateTable('vcs_publications')
    .set({ ...columns, message: null, ended_at: now })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Why a pending publication is delayed. */
export async function setPendingMessage(db: Db, id: string, message: string) {
  const pending = db.updateTable('vcs_publications').where('id', '=', id).where('status', '=', 'pending')
  await pending.set({ message }).execute()
}

/** When the host reported the event of a delivery: for a replay, that of the original. */
export async function findReportedAt(db: Db, deliveryId: string): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    select coalesce((select max(o.received_at) from vcs_deliveries o
                      where d.source = 'replay' and o.source <> 'replay' and o.repository_id = d.repository_id
                        and o.event ->> 'kind' = d.event ->> 'kind'
                        and o.event ->> 'branch' is not distinct from d.event ->> 'branch'
                        and o.event ->> 'tag' is not distinct from d.event ->> 'tag'
                        and o.event #>> '{commit,sha}' is not distinct from d.event #>> '{commit,sha}'),
                    d.received_at) as at
      from vcs_deliveries d where d.id = ${deliveryId}`.execute(db)
  return rows[0]?.at ?? new Date(0)
}

const MAX_STALLED = 1000

/** Modules and policy sets with publications that have been pending since before a time; not all of very many. */
export async function listStalled(db: Db, before: Date): Promise<Subject[]> {
  const rows = await db
    .selectFrom('vcs_publications')
    .select(['registry_module_id', 'policy_set_id'])
    .distinct()
    .where('status', '=', sql.lit('pending' as const))
    .where('created_at', '<', before)
    .limit(MAX_STALLED)
    .execute()
  return rows.map((row) =>
    row.registry_module_id === null ? { policySetId: row.policy_set_id ?? '' } : { moduleId: row.registry_module_id },
  )
}

export type PublicationRow = Selectable<Schema['vcs_publications']> & { name: string }

/** Publications of a delivery, a module or a policy set: those that published something first, then the latest. */
export async function listPublications(db: Db, of: Subject | { deliveryId: string }, page: Page) {
  const where = 'deliveryId' in of ? sql<boolean>`p.delivery_id = ${of.deliveryId}` : isOf(of)
  const order = 'deliveryId' in of ? sql`(p.status = 'skipped'), name, p.seq` : sql`p.seq desc`
  const [list, count] = await Promise.all([
    sql<PublicationRow>`
      select p.*, coalesce(m.name || '/' || m.provider, s.name) as name
        from vcs_publications p
        left join registry_modules m on m.id = p.registry_module_id
        left join policy_sets s on s.id = p.policy_set_id
       where ${where} order by ${order} limit ${page.size} offset ${pageOffset(page)}`.execute(db),
    sql<{ total: number }>`select count(*) as total from vcs_publications p where ${where}`.execute(db),
  ])
  return { rows: list.rows, total: count.rows[0]?.total ?? 0 }
}

/** Deletes ended publications without a delivery: those of deliveries are deleted with them. */
export async function deletePublications(db: Db, { before, limit }: { before: Date; limit: number }) {
  const { numAffectedRows } = await sql`
    delete from vcs_publications where id in (
      select id from vcs_publications
       where delivery_id is null and ended_at < ${before} order by ended_at limit ${limit} for update skip locked)`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0)
}
