import type { ServiceProvider } from '@groundstate/contract/oauth-clients'
import { type Insertable, type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

/** The access through which a workspace uses a repository: an OAuth token, or an installation of the GitHub App. */
export type ConnectionKey = { tokenId: string } | { installationId: string }

/** The repository of the workspace `w` as JSON; null without one. Costs nothing then, as every request reads workspaces. */
export const repositoryColumn = sql<WorkspaceRepository | null>`case when w.repository_id is not null then (
  select jsonb_build_object('identifier', r.identifier, 'display_identifier', r.display_identifier, 'page_url', r.page_url,
           'default_branch', r.default_branch, 'token_id', r.oauth_token_id, 'installation_id', r.github_app_installation_id,
           'webhook_path', r.webhook_path, 'problem', coalesce(r.read_error, r.webhook_error),
           'lacks_branch', coalesce(w.vcs_branch, '') = any(r.missing_branches), 'service_provider', coalesce(c.service_provider, i.service_provider))
    from repositories r
    left join oauth_tokens t on t.id = r.oauth_token_id
    left join oauth_clients c on c.id = t.oauth_client_id
    left join github_app_installations i on i.id = r.github_app_installation_id
   where r.id = w.repository_id) end`

export type WorkspaceRepository = {
  identifier: string
  display_identifier: string
  page_url: string
  /** Null until the host has been asked. */
  default_branch: string | null
  token_id: string | null
  installation_id: string | null
  webhook_path: string
  /** Why git cannot read it, or the host refuses the webhook. */
  problem: string | null
  /** Whether it does not have the branch that the workspace follows. */
  lacks_branch: boolean
  service_provider: ServiceProvider
}

/** SQL condition: a workspace, a module of the registry or a policy set uses the repository. */
export function isRepositoryUsed(id: RawBuilder<unknown> = sql`r.id`) {
  return sql<boolean>`(exists (select from workspaces u where u.repository_id = ${id})
    or exists (select from registry_modules u where u.repository_id = ${id})
    or exists (select from policy_sets u where u.repository_id = ${id}))`
}

type Scope = { organizationId: string; projectId: string | null }

/** A connection of the organization, and whether workspaces of the project may use it; without a project, whether it is for all projects. */
export async function findConnectionFor(db: Db, { organizationId, projectId }: Scope, key: ConnectionKey) {
  if ('installationId' in key) {
    return db
      .selectFrom('github_app_installations')
      .select([sql<ServiceProvider>`service_provider`.as('service_provider'), 'http_url'])
      .select(sql<boolean>`true`.as('is_open'))
      .where('id', '=', key.installationId)
      .where('organization_id', '=', organizationId)
      .executeTakeFirst()
  }
  const isOpen = sql<boolean>`(c.organization_scoped or exists (select from oauth_client_projects s
    where s.oauth_client_id = c.id and s.project_id = ${projectId}))`
  return db
    .selectFrom('oauth_tokens as t')
    .innerJoin('oauth_clients as c', 'c.id', 't.oauth_client_id')
    .select([sql<ServiceProvider>`c.service_provider`.as('service_provider'), 'c.http_url'])
    .select(isOpen.as('is_open'))
    .where('t.id', '=', key.tokenId)
    .where('c.organization_id', '=', organizationId)
    .executeTakeFirst()
}

/**
 * Returns the id of the repository of this connection, which is inserted if nothing has used it yet. It is locked, so that it is not
 * deleted before the caller uses it.
 */
export async function putRepository(tx: Tx, row: Insertable<Schema['repositories']>): Promise<string> {
  const column = row.oauth_token_id ? 'oauth_token_id' : 'github_app_installation_id'
  // A conflict with a concurrent transaction waits for its end; then its row is found, or it is gone.
  for (;;) {
    const found = await tx
      .selectFrom('repositories')
      .select('id')
      .where(column, '=', row.oauth_token_id ?? row.github_app_installation_id ?? '')
      .where('identifier', '=', row.identifier)
      .forKeyShare()
      .executeTakeFirst()
    if (found) return found.id
    const inserted = await tx
      .insertInto('repositories')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst()
    if (inserted) return inserted.id
  }
}
