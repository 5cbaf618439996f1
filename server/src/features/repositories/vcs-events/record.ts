import type { VCS_EVENT_LEVELS } from '@groundstate/contract/vcs-events'
import type { Ctx } from '../../../app.ts'
import * as store from './store.ts'

type NewVcsEvent = {
  organizationId: string
  /** Null for an installation of the GitHub App. */
  clientId: string | null
  tokenId: string | null
  level: (typeof VCS_EVENT_LEVELS)[number]
  /** For users, without secrets. */
  message: string
  suggestedAction?: string
}

/** Records what happened to a connection, in the log that members read (`vcs-events`). */
export async function recordVcsEvent(ctx: Ctx, event: NewVcsEvent) {
  await store.insertVcsEvent(ctx.db, {
    id: ctx.newId('vcse'),
    organization_id: event.organizationId,
    oauth_client_id: event.clientId,
    oauth_token_id: event.tokenId,
    level: event.level,
    message: event.message,
    suggested_action: event.suggestedAction ?? null,
    created_at: ctx.now(),
  })
}

type RepositoryOf = { organization_id: string; oauth_client_id: string | null; oauth_token_id: string | null }

/** Records a problem with a repository, in the log of its connection. */
export async function recordRepositoryProblem(
  ctx: Ctx,
  { organization_id: organizationId, oauth_client_id: clientId, oauth_token_id: tokenId }: RepositoryOf,
  problem: Pick<NewVcsEvent, 'message' | 'suggestedAction'>,
) {
  await recordVcsEvent(ctx, { organizationId, clientId, tokenId, level: 'error', ...problem })
}
