import type { ServiceProvider } from '@groundstate/contract/oauth-clients'
import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { isRepositoryUsed } from '../../vcs/repositories/store.ts'

export type RepositoryRow = Selectable<Schema['repositories']> & {
  service_provider: ServiceProvider
  /** Null for an installation of the GitHub App. */
  oauth_client_id: string | null
}

/** Repositories, with their kind of host. */
export function selectRepositories(db: Db) {
  return db
    .selectFrom('repositories as r')
    .leftJoin('oauth_tokens as t', 't.id', 'r.oauth_token_id')
    .leftJoin('oauth_clients as c', 'c.id', 't.oauth_client_id')
    .leftJoin('github_app_installations as i', 'i.id', 'r.github_app_installation_id')
    .selectAll('r')
    .select('t.oauth_client_id')
    .select(sql<ServiceProvider>`coalesce(c.service_provider, i.service_provider)`.as('service_provider'))
}

export async function findRepository(db: Db, id: string | null): Promise<RepositoryRow | undefined> {
  return id === null ? undefined : selectRepositories(db).where('r.id', '=', id).executeTakeFirst()
}

/** Longest message of a commit that is kept, in characters. */
export const MAX_MESSAGE = 4000

export type IngressRow = Selectable<Schema['ingress_attributes']>

export async function findIngress(db: Db, id: string): Promise<IngressRow | undefined> {
  return db.selectFrom('ingress_attributes').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Inserts the commit of versions, unless an earlier attempt to decide its delivery has. */
export async function insertIngressAttributes(db: Db, row: Insertable<Schema['ingress_attributes']>) {
  await db
    .insertInto('ingress_attributes')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function setFetched(
  db: Db,
  ingressId: string,
  changes: Updateable<Pick<Schema['ingress_attributes'], 'tree_sha' | 'commit_message'>>,
) {
  await db.updateTable('ingress_attributes').set(changes).where('id', '=', ingressId).execute()
}

/**
 * Versions of a commit that wait for an archive, and whether to include submodules. A fork could name any repository that the connection may
 * read as its submodule: it gets none.
 */
export async function listFetching(db: Db, ingressId: string) {
  return db
    .selectFrom('configuration_versions as cv')
    .innerJoin('workspaces as w', 'w.id', 'cv.workspace_id')
    .innerJoin('ingress_attributes as ia', 'ia.id', 'cv.ingress_attributes_id')
    .select(['cv.id', 'cv.workspace_id'])
    .select(sql<boolean>`w.vcs_submodules and not ia.is_fork`.as('submodules'))
    .where('cv.ingress_attributes_id', '=', ingressId)
    .where('cv.status', '=', 'fetching')
    .orderBy('cv.seq')
    .execute()
}

const MAX_LOST = 1000

/** Versions that are still fetched and were created before a time, oldest first; not all of very many. */
export async function listFetchingSince(db: Db, before: Date) {
  return db
    .selectFrom('configuration_versions')
    .select(['id', 'workspace_id'])
    .where('status', '=', sql.lit('fetching' as const))
    .where('created_at', '<', before)
    .orderBy('created_at')
    .limit(MAX_LOST)
    .execute()
}

/** Versions whose commit is not known yet, with the repository and branch of their workspaces. */
function selectUnresolved(db: Db) {
  return db
    .selectFrom('configuration_versions as cv')
    .innerJoin('workspaces as w', 'w.id', 'cv.workspace_id')
    .select(['cv.id', 'cv.workspace_id', 'w.repository_id', 'w.vcs_branch'])
    .where('cv.status', '=', sql.lit('fetching' as const))
    .where('cv.ingress_attributes_id', 'is', null)
}

export type UnresolvedVersion = NonNullable<Awaited<ReturnType<typeof findUnresolved>>>

export async function findUnresolved(db: Db, versionId: string) {
  return selectUnresolved(db).where('cv.id', '=', versionId).executeTakeFirst()
}

/** Those of a repository. */
export async function listUnresolved(db: Db, repositoryId: string) {
  return selectUnresolved(db).where('w.repository_id', '=', repositoryId).execute()
}

/** Those of the versions whose commit is still not known; their workspaces are locked. */
export async function listStillUnresolved(tx: Tx, versionIds: readonly string[]) {
  const unresolved = selectUnresolved(tx).where(sql<boolean>`cv.id = any(${versionIds})`)
  return (await unresolved.execute()).map(({ id }) => id)
}

/** Records that a commit has its run in the workspaces of versions, for pushes of it. */
export async function recordCommitRuns(tx: Tx, versionIds: readonly string[], sha: string) {
  await sql`insert into vcs_commit_runs (workspace_id, commit_sha, kind, run_id)
    select distinct on (r.workspace_id) r.workspace_id, ${sha}, 'run', r.id from runs r
     where r.configuration_version_id = any(${versionIds}) and not r.plan_only
     order by r.workspace_id, r.seq on conflict do nothing`.execute(tx)
}

/** The runs that the server queued with versions whose commit has another run in the workspace, and those. */
export async function listRepeatedRuns(tx: Tx, versionIds: readonly string[], sha: string) {
  return tx
    .selectFrom('runs as r')
    .innerJoin('vcs_commit_runs as c', 'c.workspace_id', 'r.workspace_id')
    .innerJoin('runs as earlier', 'earlier.id', 'c.run_id')
    .select(['r.id', 'earlier.id as earlier_id'])
    .where(sql<boolean>`r.configuration_version_id = any(${versionIds})`)
    .where('r.source', '=', 'tfe-configuration-version')
    .where('r.created_by_user_id', 'is', null)
    .where('c.commit_sha', '=', sha)
    .where('c.kind', '=', 'run')
    .whereRef('earlier.id', '<>', 'r.id')
    .orderBy('r.workspace_id')
    .execute()
}

/** Sets the commit of versions, and of the runs that wait for them. */
export async function setIngress(tx: Tx, versionIds: readonly string[], ingressId: string) {
  const commit = { ingress_attributes_id: ingressId }
  await tx
    .updateTable('configuration_versions')
    .set(commit)
    .where(sql<boolean>`id = any(${versionIds})`)
    .execute()
  await tx
    .updateTable('runs')
    .set(commit)
    .where(sql<boolean>`configuration_version_id = any(${versionIds})`)
    .execute()
}

/** Stores why git cannot read a repository, or null if it can. False if that is known. */
export async function setReadError(db: Db, id: string, message: string | null) {
  const { numUpdatedRows } = await db
    .updateTable('repositories')
    .set({ read_error: message })
    .where('id', '=', id)
    .where('read_error', 'is distinct from', message)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/**
 * Stores which of the branches that workspaces follow are not among `branches`; the empty name is that of the default branch. False if
 * that is known.
 */
export async function setMissingBranches(db: Db, id: string, branches: readonly string[]) {
  const { numAffectedRows } = await sql`
    update repositories r set missing_branches = missing.names
      from (select coalesce(array_agg(distinct coalesce(w.vcs_branch, '')), '{}') as names from workspaces w
             where w.repository_id = ${id} and w.vcs_tags_regex is null and coalesce(w.vcs_branch, '') <> all(${branches})) missing
     where r.id = ${id} and r.missing_branches <> missing.names`.execute(db)
  return numAffectedRows === 1n
}

export async function listWorkspaceIds(db: Db, repositoryId: string) {
  const rows = await db.selectFrom('workspaces').select('id').where('repository_id', '=', repositoryId).execute()
  return rows.map(({ id }) => id)
}

/** A repository that is used through the token. */
export async function findUsedRepository(db: Db, tokenId: string): Promise<RepositoryRow | undefined> {
  return selectRepositories(db)
    .where('r.oauth_token_id', '=', tokenId)
    .where(isRepositoryUsed())
    .orderBy('r.created_at')
    .limit(1)
    .executeTakeFirst()
}
