import { type Insertable, type Selectable, sql } from 'kysely'
import type { AuditEvent } from '../../../audit/record.ts'
import type { Db, Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { domainEvent } from '../../../events.ts'

export type TokenRow = Selectable<Schema['tokens']>
export type NewToken = Insertable<Schema['tokens']>

/** Inserts a token; a `SingleToken` replaces the previous one. Of two concurrent callers the later one wins; the other secret is void. */
export async function insertToken(db: Db, row: NewToken) {
  const insert = db.insertInto('tokens').values(row).returningAll()
  if (!row.is_legacy && row.kind !== 'organization' && row.kind !== 'audit-trails')
    return insert.executeTakeFirstOrThrow()
  return insert
    .onConflict((conflict) => {
      const target = row.is_legacy
        ? conflict.columns(['team_id']).where('is_legacy', '=', sql.lit(true))
        : conflict
            .columns(['organization_id', 'kind'])
            .where('kind', 'in', [sql.lit('organization' as const), sql.lit('audit-trails' as const)])
      return target.doUpdateSet((eb) => ({
        id: eb.ref('excluded.id'),
        hash: eb.ref('excluded.hash'),
        description: eb.ref('excluded.description'),
        created_by_user_id: eb.ref('excluded.created_by_user_id'),
        created_at: eb.ref('excluded.created_at'),
        expires_at: eb.ref('excluded.expires_at'),
        last_used_at: null,
      }))
    })
    .executeTakeFirstOrThrow()
}

export async function findTokenByHash(db: Db, hash: Buffer) {
  return db.selectFrom('tokens').selectAll().where('hash', '=', hash).executeTakeFirst()
}

export async function listUserTokens(db: Db, userId: string, page: Page) {
  const all = db.selectFrom('tokens').where('user_id', '=', userId).where('kind', '=', 'user')
  return readPaged(page, all.selectAll().orderBy('created_at', 'desc').orderBy('id'), all)
}

export async function hasOrganizationToken(
  db: Db,
  { id, organizationId, now }: { id: string; organizationId: string; now: Date },
) {
  const token = db.selectFrom('tokens').select('id').where('id', '=', id).where('organization_id', '=', organizationId)
  const valid = token
    .where('kind', '=', 'organization')
    .where(sql<boolean>`(expires_at is null or expires_at > ${now})`)
  return (await valid.executeTakeFirst()) !== undefined
}

/** Columns of a token that exists once: an organization's token of a kind, or a team's legacy token. */
export type SingleToken =
  | { organization_id: string; kind: 'organization' | 'audit-trails' }
  | { team_id: string; is_legacy: true }

export async function findSingleToken(db: Db, token: SingleToken) {
  return db
    .selectFrom('tokens')
    .selectAll()
    .where((eb) => eb.and(token))
    .executeTakeFirst()
}

export async function deleteSingleToken(db: Db, token: SingleToken) {
  return db
    .deleteFrom('tokens')
    .where((eb) => eb.and(token))
    .returningAll()
    .executeTakeFirst()
}

export async function deleteToken(db: Db, id: string) {
  return db.deleteFrom('tokens').where('id', '=', id).returningAll().executeTakeFirst()
}

export async function updateFromSetting(db: Db, id: string) {
  await db.updateTable('tokens').set({ from_setting: true }).where('id', '=', id).execute()
}

/** Deletes the tokens of the setting except the one with this hash, and returns them. There is one such setting. */
export async function deleteFormerSettingTokens(db: Db, hash: Buffer) {
  return db
    .deleteFrom('tokens')
    .where('from_setting', '=', sql.lit(true))
    .where('hash', '!=', hash)
    .returningAll()
    .execute()
}

export async function findToken(db: Db, id: string) {
  return db.selectFrom('tokens').selectAll().where('id', '=', id).executeTakeFirst()
}

export function tokenAudit(action: 'create' | 'destroy', token: NewToken): AuditEvent {
  const { id, kind, description, user_id: user, team_id: team, agent_pool_id: agent_pool } = token
  return {
    organizationId: token.organization_id ?? undefined,
    action,
    resource: { type: 'authentication_token', id },
    // A team's token belongs to a service account, whose id is of no interest.
    meta: { kind, description, ...(kind === 'user' ? { user } : { team, agent_pool }) },
    notices: [],
    changesAccess: action === 'destroy',
  }
}

/** Raised in the transaction that deletes a token. */
export const tokensDeleted = domainEvent<{ tokenIds: readonly string[] }>('tokens.deleted')
