import { type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { isRepositoryUsed } from '../../vcs/repositories/store.ts'
import type { PolledRefs } from './compare.ts'

export type PolledRepository = Omit<Selectable<Schema['repositories']>, 'polled_refs'> & {
  polled_refs: PolledRefs | null
  oauth_client_id: string
}

/**
 * Repositories `r` to poll until `due`: those of connections that ask for it, and those without a webhook that the server has created.
 * The webhooks of a GitHub App are its own.
 */
function isDue({ due, now }: { due: Date; now: Date }) {
  return sql<boolean>`(r.next_poll_at is null or r.next_poll_at <= ${due})
    and ${isRepositoryUsed()}
    and exists (select from oauth_tokens t join oauth_clients c on c.id = t.oauth_client_id
      where t.id = r.oauth_token_id and (c.polling_enabled or r.webhook_id is null)
        and (c.blocked_until is null or c.blocked_until <= ${now}))`
}

/** The tokens through which repositories are to be polled; they are not due again until `until`, unless `endPolls` is called. */
export async function claimDueTokens(tx: Tx, { until, ...times }: { due: Date; now: Date; until: Date }) {
  const { rows } = await sql<{ id: string }>`
    update oauth_tokens set poll_after = ${until} where id = any(array(
      select k.id from oauth_tokens k
       where (k.poll_after is null or k.poll_after <= ${times.due})
         and exists (select from repositories r where r.oauth_token_id = k.id and ${isDue(times)})
       for no key update skip locked)) returning id`.execute(tx)
  return rows.map(({ id }) => id)
}

/** Lets a token be due again: after a delay if its host did not answer, which doubles each time, up to an hour. */
export async function endPolls(db: Db, tokenId: string, { hasAnswered, ...times }: Delay & { hasAnswered: boolean }) {
  await sql`update oauth_tokens set poll_after = ${hasAnswered ? null : delayed(times)},
      poll_failures = ${hasAnswered ? 0 : sql`poll_failures + 1`} where id = ${tokenId}`.execute(db)
}

/** Ends the delays after failures that new credentials may have ended. */
export async function resumePolls(tx: Tx, tokenId: string) {
  await tx.updateTable('oauth_tokens').set({ poll_after: null, poll_failures: 0 }).where('id', '=', tokenId).execute()
  const failing = tx.updateTable('repositories').where('oauth_token_id', '=', tokenId).where('poll_failures', '>', 0)
  await failing.set({ next_poll_at: null, poll_failures: 0 }).execute()
}

type Delay = { now: Date; intervalMs: number }

function delayed({ now, intervalMs }: Delay) {
  return sql`${now}::timestamptz
    + least(${intervalMs}::float8 * 2 ^ least(poll_failures + 1, 10), 3600000) * interval '1 millisecond'`
}

type Claim = { tokenId: string; due: Date; now: Date; intervalMs: number; relaxedMs: number }

/** Takes the next repository to poll; its next time is later if webhooks arrive. */
export async function claimRepository(db: Db, { tokenId, due, now, intervalMs, relaxedMs }: Claim) {
  const { rows } = await sql<PolledRepository>`
    update repositories r set next_poll_at = ${now}::timestamptz + case
        when exists (select from vcs_deliveries d where d.repository_id = r.id and d.source = 'webhook'
          and d.received_at > ${now}::timestamptz - interval '1 day') then ${relaxedMs}::integer else ${intervalMs}::integer
      end * interval '1 millisecond'
     where r.id = (select r.id from repositories r
        where r.oauth_token_id = ${tokenId} and ${isDue({ due, now })}
        order by r.next_poll_at nulls first limit 1 for update skip locked)
     returning r.*, (select t.oauth_client_id from oauth_tokens t where t.id = r.oauth_token_id)`.execute(db)
  return rows[0]
}

/** Delays the next poll after a failure; the delay doubles with each one, up to an hour. */
export async function recordFailure(db: Db, id: string, times: Delay) {
  await sql`update repositories set poll_failures = poll_failures + 1, next_poll_at = ${delayed(times)}
    where id = ${id}`.execute(db)
}

type Poll = { polledAt: Date | null; refs: PolledRefs; now: Date }

/** Stores what a poll found; false if another one was faster. */
export async function savePoll(tx: Tx, id: string, { polledAt, refs, now }: Poll) {
  const { numUpdatedRows } = await tx
    .updateTable('repositories')
    .set({ polled_refs: JSON.stringify(refs), polled_at: now, poll_failures: 0 })
    .where('id', '=', id)
    .where('polled_at', 'is not distinct from', polledAt)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Events that webhooks have reported since then. */
export async function listReported(db: Db, repositoryId: string, since: Date) {
  const rows = await db
    .selectFrom('vcs_deliveries')
    .select('event')
    .where('repository_id', '=', repositoryId)
    .where('source', '=', 'webhook')
    .where('received_at', '>=', since)
    .where('status', 'in', ['pending', 'decided'])
    .where('event', 'is not', null)
    .execute()
  return rows.map(({ event }) => event as HostEvent)
}

/** The branches that are followed, and whether tags are. */
export async function findFollowed(db: Db, repositoryId: string) {
  const { rows } = await sql<{ branches: string[]; tags: boolean }>`
    select coalesce(array_agg(distinct coalesce(f.branch, r.default_branch))
             filter (where not f.tags and coalesce(f.branch, r.default_branch) is not null), '{}') as branches,
           coalesce(bool_or(f.tags), false) as tags
      from (select repository_id, vcs_branch as branch, vcs_tags_regex is not null as tags from workspaces
            union all select repository_id, vcs_branch, vcs_tags from registry_modules
            union all select repository_id, vcs_branch, false from policy_sets) f
      join repositories r on r.id = f.repository_id
     where r.id = ${repositoryId}`.execute(db)
  return rows[0] ?? { branches: [], tags: false }
}
