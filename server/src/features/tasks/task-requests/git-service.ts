import type { Readable } from 'node:stream'
import { MAX_ARTIFACT_BYTES } from '@groundstate/contract/agent'
import type { GitRequest, ReportGit } from '@groundstate/contract/agent-requests'
import type { Ctx } from '../../../app.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { BlobExistsError, BlobTooLargeError } from '../../../blobs/errors.ts'
import { createClaims } from '../../../claims/claims.ts'
import { conflict, tooLarge, unauthorized } from '../../../errors.ts'
import { reaction } from '../../../handlers.ts'
import { agentRemoved } from '../../agents/agents/announce.ts'
import { gitRequestDocument, gitTopic, openWork, sealReport } from './git-request.ts'
import * as gitStore from './git-store.ts'
import { type Credentials, requireTakenRequest } from './service.ts'
import * as store from './store.ts'
import { responseTopic } from './task-request.ts'

type Claim = { agent: store.ClaimingAgent }

/** Leases the oldest operation of its pool to the agent; undefined for none, `exited` for an agent that has exited. */
async function claimGitRequest(ctx: Ctx, { agent }: Claim): Promise<GitRequest | 'exited' | undefined> {
  const token = newTokenText()
  const lease = { agent, kinds: ['git'], tokenHash: tokenHash(token), now: ctx.now(), marginMs: 0 } as const
  const row = await store.leaseNextRequest(ctx.db, lease)
  return row === undefined || row === 'exited' ? row : gitRequestDocument(ctx, row, token)
}

const claims = createClaims<Claim, GitRequest>({
  name: 'git request',
  topic: gitTopic,
  poolsWithItems: ({ now }, poolIds) => store.poolsWithRequests(poolIds, { kinds: ['git'], now: now() }),
  claim: claimGitRequest,
  requeue: async (ctx, { id }, { agent }) => {
    await store.requeueRequest(ctx.db, id)
    ctx.signals.publish(ctx.db, gitTopic(agent.agent_pool_id))
  },
  kindOf: () => '',
  listPreferredAgents: async () => [],
})

export const waitForGitRequest = claims.wait

/** Throws `unauthorized` for another token, after the lease was lost, or once nobody waits for the result. */
export async function renewGitRequest(ctx: Ctx, id: string, { token = '' }: Credentials) {
  if (await gitStore.renewLease(ctx.db, { id, hash: tokenHash(token), now: ctx.now() })) return
  throw unauthorized('the token is not that of this request, or its result is no longer expected')
}

/** Stores the archive of an operation; a stored one is kept. Throws as `requireTakenRequest` does, `conflict` for an operation without archive. */
export async function putArchive(ctx: Ctx, id: string, { token, archive }: Credentials & { archive: Readable }) {
  const request = await requireTakenRequest(ctx, id, { token, kinds: ['git'] })
  const row = request.status === 'leased' ? await gitStore.findSealedWork(ctx.db, id) : undefined
  if (!row) return void archive.resume()
  const { blobKey } = openWork(ctx, row)
  if (blobKey === undefined) throw conflict('the operation writes no archive')
  try {
    await ctx.blobs.put(blobKey, archive, { maxBytes: MAX_ARTIFACT_BYTES, compress: false })
  } catch (error) {
    if (error instanceof BlobTooLargeError) throw tooLarge(error.message)
    if (!(error instanceof BlobExistsError)) throw error
    archive.resume()
  }
}

/** Stores a report for the waiting process; idempotent. Throws as `requireTakenRequest` does. */
export async function recordGitReport(ctx: Ctx, id: string, { token, report }: Credentials & { report: ReportGit }) {
  const request = await requireTakenRequest(ctx, id, { token, kinds: ['git'] })
  if (request.status !== 'leased') return
  await store.recordResponse(ctx.db, id, sealReport(ctx, id, report))
  ctx.signals.publish(ctx.db, responseTopic(id))
}

export const gitRequestReactions = [reaction(agentRemoved, async (ctx, { agentId }) => claims.end(ctx, agentId))]
