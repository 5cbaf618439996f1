import type { ConnectionTestResource } from '@groundstate/contract/oauth-clients'
import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { AppError, conflict } from '../../../errors.ts'
import { jobHandler, reaction } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { requireOAuthClient } from '../../vcs/oauth-clients/access.ts'
import { credentialsChanged } from '../../vcs/oauth-clients/service.ts'
import { type Connection, callHost, openConnection } from './connection.ts'
import * as store from './store.ts'

const checkTokenJob = jobKind('connections.check', z.object({ tokenId: z.string() }), {
  concurrency: 12,
  retryLimit: 14,
})

export const connectionReactions = [
  reaction(credentialsChanged, async (ctx: TransactionCtx, { tokenId }) => {
    await ctx.jobs.enqueue(ctx.db, checkTokenJob, { tokenId })
  }),
]

export const connectionJobs = [
  jobHandler(checkTokenJob, async (ctx, { tokenId }) => {
    try {
      await readUser(ctx, await openConnection(ctx, tokenId))
    } catch (error) {
      // The token was deleted, or the refusal is recorded. Anything else is retried.
      const isSettled = error instanceof HostError ? error.kind === 'unauthorised' : isNotFound(error)
      if (!isSettled) throw error
    }
  }),
]

function isNotFound(error: unknown) {
  return error instanceof AppError && error.kind === 'not-found'
}

/** Asks the host for the user of the token, and stores the name. Null for a host without an API. Throws a `HostError`. */
async function readUser(ctx: Ctx, connection: Connection) {
  if (!connection.api) return null
  const user = await callHost(ctx, connection, async (api) => api.readUser())
  const { id, organization_id: organization, oauth_client_id: clientId } = connection.row
  if (clientId === null) return user
  await transact(ctx, async (ctx) => {
    await store.setServiceProviderUser(ctx.db, id, user)
    announce(ctx, { organization, type: 'oauth-clients', id: clientId })
  })
  return user
}

export type TestResult = ConnectionTestResource['attributes']

/**
 * Asks the host now; `readRepository` is asked instead about one without an API. Throws `conflict` for a connection without a token, and
 * what `readRepository` throws.
 */
export async function testConnection(
  ctx: Ctx,
  clientId: string,
  readRepository: (tokenId: string) => Promise<TestResult>,
): Promise<TestResult> {
  const client = await requireOAuthClient(ctx, clientId, 'vcs-settings:manage')
  const tokenId = client.token_ids[0]
  if (tokenId === undefined) throw conflict('the connection has no token yet: authorize it first')
  try {
    const user = await readUser(ctx, await openConnection(ctx, tokenId))
    if (user === null) return await readRepository(tokenId)
    return { result: 'accepted', 'service-provider-user': user, message: null }
  } catch (error) {
    if (!(error instanceof HostError)) throw error
    const result = error.kind === 'unauthorised' || error.kind === 'forbidden' ? 'refused' : 'unreachable'
    return { result, 'service-provider-user': null, message: error.message }
  }
}
