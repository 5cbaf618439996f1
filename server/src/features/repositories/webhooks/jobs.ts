import { GitError } from '@groundstate/agent/git/errors'
import type { ServiceProvider } from '@groundstate/contract/oauth-clients'
import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { AppError } from '../../../errors.ts'
import { jobHandler, reaction } from '../../../handlers.ts'
import { type JobKind, jobKind } from '../../../jobs/jobs.ts'
import { sealedJobProperty } from '../../../secrets/sealed.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import { organizationDeleting } from '../../organizations/organizations/access.ts'
import { credentialsChanged, tokensDeleting } from '../../vcs/oauth-clients/service.ts'
import { repositoryAdded, repositoryLeft, webhookContext } from '../../vcs/repositories/service.ts'
import { webhookUrl } from '../../vcs/repositories/webhook-url.ts'
import {
  type Connection,
  callHost,
  hostFetch,
  loadConnection,
  openConnectionOf,
  poolOf,
} from '../connections/connection.ts'
import { throttled } from '../connections/throttle.ts'
import { connectionOf } from '../git/attempts.ts'
import { announceRepository } from '../git/problems.ts'
import { runGit } from '../git/run.ts'
import { type RepositoryRow, findRepository } from '../git/store.ts'
import { recordRepositoryProblem } from '../vcs-events/record.ts'
import * as store from './store.ts'

/** Retried for about a day: a host may be down for a while. Jobs wait for a host most of the time, and a slow one must not stop others. */
const ASKING = { concurrency: 12, retryLimit: 30, retryDelayMs: 2000, retryDelayMaxMs: 3_600_000 }
const repositorySchema = z.object({ repositoryId: z.string(), waits: z.int().optional() })
const registerJob = jobKind('webhooks.register', repositorySchema, ASKING)
const leaveJob = jobKind('webhooks.leave', repositorySchema, ASKING)
const removeJob = jobKind('webhooks.remove', z.object({ sealed: z.base64(), waits: z.int().optional() }), ASKING)
export const sealedRemoval = sealedJobProperty(removeJob, 'sealed', () => 'webhooks.remove')
const SEALED = sealedRemoval.context({})

export const webhookReactions = [
  reaction(repositoryAdded, async (ctx, data) => ctx.jobs.enqueue(ctx.db, registerJob, data)),
  reaction(repositoryLeft, async (ctx, data) => ctx.jobs.enqueue(ctx.db, leaveJob, data)),
  // What was refused may be accepted now.
  reaction(credentialsChanged, async (ctx, { tokenId }) => {
    for (const repositoryId of await store.listWithProblems(ctx.db, tokenId))
      await ctx.jobs.enqueue(ctx.db, registerJob, { repositoryId })
  }),
  reaction(tokensDeleting, removeWebhooks),
  reaction(organizationDeleting, async (ctx, { organizationId }) =>
    removeWebhooks(ctx, { tokenIds: await store.listTokenIds(ctx.db, organizationId) }),
  ),
]

export const webhookJobs = [
  jobHandler(registerJob, async (ctx, data, signal) => {
    const repository = await findRepository(ctx.db, data.repositoryId)
    if (!repository) return
    const work = async () => register(ctx, repository, signal)
    await askHost(ctx, connectionOf(repository), { job: registerJob, data, work })
  }),
  jobHandler(leaveJob, async (ctx, data) => {
    const repository = await findRepository(ctx.db, data.repositoryId)
    if (!repository) return
    await askHost(ctx, connectionOf(repository), { job: leaveJob, data, work: async () => leave(ctx, repository) })
  }),
  jobHandler(removeJob, async (ctx, data) => {
    const content = ctx.secrets.openText(Buffer.from(data.sealed, 'base64'), SEALED)
    const removal = removalSchema.parse(JSON.parse(content))
    await askHost(ctx, removal.httpUrl, { job: removeJob, data, work: async () => removeWebhook(ctx, removal) })
  }),
]

type Asking<Data extends object> = {
  job: JobKind<Data>
  data: Data & { waits?: number | undefined }
  work: () => Promise<void>
}

/** Does the work of a job now, or has the job run again when the host may be asked. */
async function askHost<Data extends object>(ctx: Ctx, connection: string | null, { job, data, work }: Asking<Data>) {
  const { waits = 0 } = data
  // Apart from git, which a host may answer although its API is down, or the reverse.
  const outcome = await throttled(ctx, { connection: `webhooks ${connection}`, waits }, work)
  if ('at' in outcome) await ctx.jobs.enqueue(ctx.db, job, { ...data, waits: waits + 1 }, { startAfter: outcome.at })
}

/** Asks the host about a new repository, and creates its webhook there. What the host refuses is shown with the repository. */
async function register(ctx: Ctx, repository: RepositoryRow, signal: AbortSignal) {
  try {
    const connection = await existing(openConnectionOf(ctx, repository))
    if (!connection) return
    if (!connection.api) return await readDefaultBranch(ctx, repository, signal)
    await describe(ctx, connection, repository)
    // The webhook of the GitHub App reports all repositories.
    const isOwn = repository.github_app_installation_id === null
    if (isOwn && connection.host.capabilities.createsWebhooks) await createWebhook(ctx, connection, repository)
  } catch (error) {
    if (!(error instanceof HostError)) throw error
    await save(ctx, repository, { webhook_error: error.message })
    await recordProblem(ctx, repository, error.message)
    if (error.mayPass) throw error
  }
}

async function recordProblem(ctx: Ctx, repository: RepositoryRow, message: string) {
  // An attempt that is repeated for the same reason is no news.
  if (repository.webhook_error === message || repository.read_error === message) return
  await recordRepositoryProblem(ctx, repository, {
    message,
    suggestedAction: `Let the connection read ${repository.identifier}, and create webhooks there if the host has them. A repository without a webhook is polled`,
  })
}

/** A git server has no API: git says which branch is the default. */
async function readDefaultBranch(ctx: Ctx, repository: RepositoryRow, signal: AbortSignal) {
  try {
    const { defaultBranch } = await runGit(ctx, repository, { kind: 'refs' }, { signal })
    await save(ctx, repository, { default_branch: defaultBranch, webhook_error: null })
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    await recordProblem(ctx, repository, error.message)
    if (error.mayPass) throw error
  }
}

/** Undefined if the connection was deleted in the meantime. */
async function existing(opening: Promise<Connection>) {
  return opening.catch((error: unknown) => {
    if (error instanceof AppError && error.kind === 'not-found') return undefined
    throw error
  })
}

async function describe(ctx: Ctx, connection: Connection, repository: store.RepositoryRow) {
  const { identifier } = repository
  const found = await callHost(ctx, connection, async (api) => api.findRepository(identifier))
  if (!found) {
    const message = `${connection.host.name} has no repository ${identifier}, or the token may not read it`
    throw new HostError('not-found', message)
  }
  await save(ctx, repository, {
    display_identifier: found.displayIdentifier,
    page_url: found.page,
    clone_url: found.clone,
    ssh_url: found.ssh,
    default_branch: found.defaultBranch || null,
    webhook_error: null,
  })
}

async function createWebhook(ctx: Ctx, connection: Connection, repository: store.RepositoryRow) {
  const { id, identifier } = repository
  const secret = ctx.secrets.openText(repository.webhook_secret, webhookContext(id))
  const url = webhookUrl(ctx, repository)
  const webhookId = await callHost(ctx, connection, async (api) => api.createWebhook(identifier, { url, secret }))
  await transact(ctx, async (ctx) => {
    if (await store.updateRepository(ctx.db, id, { webhook_id: webhookId, webhook_error: null }))
      await announceRepository(ctx, repository)
    // It was removed in the meantime.
    else await enqueueRemoval(ctx, connection, { ...repository, webhook_id: webhookId })
  })
}

async function save(ctx: Ctx, repository: store.RepositoryRow, changes: Parameters<typeof store.updateRepository>[2]) {
  await transact(ctx, async (ctx) => {
    await store.updateRepository(ctx.db, repository.id, changes)
    await announceRepository(ctx, repository)
  })
}

const removalSchema = z.object({
  provider: z.string(),
  httpUrl: z.string(),
  apiUrl: z.string(),
  token: z.string(),
  username: z.string().nullable(),
  identifier: z.string(),
  webhookId: z.string(),
  pool: z.object({ id: z.string(), name: z.string() }).optional(),
})
type Removal = z.infer<typeof removalSchema>

/** Removes a repository that nothing uses any more, and then its webhook. */
async function leave(ctx: Ctx, known: RepositoryRow) {
  await refreshTokenOf(ctx, known)
  await transact(ctx, async (ctx) => {
    const repository = await store.deleteUnusedRepository(ctx.db, known.id)
    if (repository?.oauth_token_id) {
      await enqueueRemoval(ctx, await existing(loadConnection(ctx, repository.oauth_token_id)), repository)
    }
  })
}

/** A token that has expired could not remove the webhook. One that is refused cannot either, but the repository is removed. */
async function refreshTokenOf(ctx: Ctx, repository: RepositoryRow) {
  try {
    await existing(openConnectionOf(ctx, repository))
  } catch (error) {
    if (!(error instanceof HostError) || error.mayPass) throw error
  }
}

/** Has the webhooks removed that are lost with the tokens. */
async function removeWebhooks(ctx: TransactionCtx, { tokenIds }: { tokenIds: readonly string[] }) {
  const repositories = await store.listRegistered(ctx.db, tokenIds)
  for (const tokenId of tokenIds) {
    const own = repositories.filter((repository) => repository.oauth_token_id === tokenId)
    const connection = own.length > 0 ? await existing(loadConnection(ctx, tokenId)) : undefined
    for (const repository of own) await enqueueRemoval(ctx, connection, repository)
  }
}

/** The job has all that it needs, as the rows are deleted before it runs; sealed, since that includes the token. */
async function enqueueRemoval(ctx: TransactionCtx, connection: Connection | undefined, row: store.RepositoryRow) {
  if (!connection || row.webhook_id === null) return
  const { httpUrl, apiUrl, token, username } = connection.access
  const provider = connection.row.service_provider
  const content: Removal = {
    provider,
    httpUrl,
    apiUrl,
    token,
    username,
    pool: poolOf(connection.row),
    identifier: row.identifier,
    webhookId: row.webhook_id,
  }
  const sealed = ctx.secrets.seal(JSON.stringify(content), SEALED).toString('base64')
  await ctx.jobs.enqueue(ctx.db, removeJob, { sealed })
}

async function removeWebhook(ctx: Ctx, { provider, identifier, webhookId, pool, ...access }: Removal) {
  const host = hostOf(provider as ServiceProvider)
  const api = host.api?.({ ...access, fetch: hostFetch(ctx, pool) })
  try {
    await api?.deleteWebhook(identifier, webhookId)
  } catch (error) {
    // A token that was revoked before the connection was deleted cannot remove anything.
    if (!(error instanceof HostError) || error.mayPass) throw error
    ctx.log.warn({ repository: identifier, reason: error.message }, 'a webhook stays on its host')
  }
}
