import { vcsEventIncludes } from '@groundstate/contract/includes'
import { pageOf } from '@groundstate/contract/responses'
import { VCS_EVENT_LEVELS, type VcsEventResource, vcsEventSchema } from '@groundstate/contract/vcs-events'
import type { Selectable } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'
import { scheduledJob } from '../../../handlers.ts'
import type { Routes } from '../../../http/http.ts'
import { listOf, textList, time } from '../../../http/query.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { deleteVcsEvents, listVcsEvents } from './store.ts'

/** As in the public API. */
const LISTED_DAYS = 10
const KEPT_DAYS = 30
const BATCH = 1000

export const vcsEventRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/vcs-events',
    {
      access: { organization: 'vcs-settings:read' },
      summary: 'List what happened to the connections of an organization, the latest first',
      responses: { 200: pageOf(vcsEventSchema) },
      query: {
        'filter[from]': time().describe(`by default ${LISTED_DAYS} days ago; events are kept for ${KEPT_DAYS} days`),
        'filter[to]': time().describe('by default now'),
        'filter[oauth_client_external_ids]': textList().describe('ids of connections'),
        'filter[levels]': listOf(VCS_EVENT_LEVELS),
      },
      include: vcsEventIncludes,
    },
    async (req) => {
      const { ctx, query } = req
      const { id } = await requireOrganization(ctx, req.params.organization, 'vcs-settings:read')
      const now = ctx.now()
      const filter = {
        from: query['filter[from]'] ?? dueBefore(now, LISTED_DAYS) ?? now,
        to: query['filter[to]'] ?? now,
        clientIds: query['filter[oauth_client_external_ids]'],
        levels: query['filter[levels]'],
      }
      return req.list(await listVcsEvents(ctx.db, { organizationId: id, filter, page: req.page() }), vcsEventResource)
    },
  )
}

export const vcsEventJobs = [
  scheduledJob('vcs-events.expire', '17 4 * * *', async (ctx, signal) => {
    const before = dueBefore(ctx.now(), KEPT_DAYS) ?? ctx.now()
    await expireInBatches<true>(ctx, 'connection events', {
      signal,
      batch: async () => {
        const deleted = await deleteVcsEvents(ctx.db, { before, limit: BATCH })
        return { deleted, next: deleted < BATCH ? undefined : true }
      },
    })
  }),
]

function vcsEventResource(row: Selectable<Schema['vcs_events']>): VcsEventResource {
  const { oauth_client_id: clientId, oauth_token_id: tokenId } = row
  return {
    id: row.id,
    type: 'vcs-events',
    attributes: {
      'created-at': row.created_at,
      level: row.level,
      message: row.message,
      'suggested-action': row.suggested_action,
    },
    relationships: {
      'oauth-client': { data: clientId === null ? null : { id: clientId, type: 'oauth-clients' } },
      'oauth-token': { data: tokenId === null ? null : { id: tokenId, type: 'oauth-tokens' } },
    },
  }
}
