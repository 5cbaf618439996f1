import { statfs } from 'node:fs/promises'
import { BUILD, VERSION } from '@groundstate/agent/build'
import type { MailTest, SiteHealthResource } from '@groundstate/contract/site-health'
import type { Ctx } from '../../../app.ts'
import { actorUserId, checkSiteAdmin } from '../../../auth/actor.ts'
import { configuredStore, findStoreId, placeOf } from '../../../blobs/blob-store.ts'
import { withTimeout } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import { type QueueCounts, countJobs } from '../../../jobs/queue-state.ts'
import { trySendMail } from '../../../mail/mail.ts'
import { listServers } from '../../../signals.ts'
import { StartError } from '../../../start-error.ts'
import { onlineSince } from '../../agents/agent-pools/store.ts'
import { findUser } from '../../identity/users/store.ts'
import * as store from './store.ts'

const STORAGE_TIMEOUT_MS = 5000

type Health = SiteHealthResource['attributes']

/** Measures the server. The cost of its queries does not depend on the amount of stored data. */
export async function siteHealth(ctx: Ctx): Promise<SiteHealthResource> {
  checkSiteAdmin(ctx)
  const [latencyMs, storage] = await Promise.all([
    durationOf(async () => store.pingDatabase(ctx.db)),
    storageHealth(ctx),
  ])
  const database = await store.describeDatabase(ctx.db)
  const { heapUsed, rss } = process.memoryUsage()
  const attributes: Health = {
    version: VERSION,
    commit: BUILD?.commit ?? null,
    'built-at': BUILD && new Date(BUILD.time),
    'node-version': process.versions.node,
    'measured-at': ctx.now(),
    database: {
      version: database.version,
      'is-embedded': ctx.config.databaseUrl === undefined,
      'size-bytes': database.size,
      connections: database.connections,
      'max-connections': database.max_connections,
      'latency-ms': latencyMs,
      migration: database.migration,
    },
    storage,
    queue: queueHealth(await countJobs(ctx.db)),
    agents: await agentHealth(ctx),
    mail: ctx.config.smtpUrl ? { server: ctx.config.smtpUrl.host, from: ctx.config.mailFrom ?? '' } : null,
    servers: (await listServers(ctx.db)).map((server) => ({
      id: server.id,
      'is-this': server.id === ctx.signals.id,
      address: server.address,
      version: server.version,
      role: server.role,
      'started-at': server.started_at,
      'connected-at': server.connected_at,
    })),
    process: {
      'memory-bytes': rss,
      'heap-bytes': heapUsed,
      'started-at': new Date(Date.now() - process.uptime() * 1000),
    },
  }
  return { id: 'site', type: 'site-health', attributes, links: { self: '/api/v2/admin/health' } }
}

/** Sends a mail to the caller and reports the response of the mail server. Throws `invalid` for an account without an address. */
export async function testMail(ctx: Ctx): Promise<MailTest> {
  checkSiteAdmin(ctx)
  const to = (await findUser(ctx.db, actorUserId(ctx.actor) ?? ''))?.email
  if (!to) throw invalid('your account has no confirmed e-mail address to which a mail could be sent')
  const text = 'This mail shows that Groundstate can send invitations and links to reset passwords.'
  const error = await trySendMail(ctx, { to, subject: 'Groundstate sends mail', text })
  return { to, error: error ?? null }
}

async function durationOf(work: () => Promise<unknown>) {
  const started = performance.now()
  await work()
  return Math.round((performance.now() - started) * 10) / 10
}

async function storageHealth({ config, secrets }: Ctx): Promise<Health['storage']> {
  const blobs = configuredStore(config)
  const shown = { kind: blobs.kind, place: placeOf(blobs) }
  const started = performance.now()
  const error = await withTimeout(findStoreId(blobs, secrets), STORAGE_TIMEOUT_MS).then(
    (id) => (id === undefined ? 'the file store-id is missing: this is not the storage of this installation' : null),
    (reason: unknown) =>
      reason instanceof StartError ? reason.message : `no response within ${STORAGE_TIMEOUT_MS / 1000} s`,
  )
  const latencyMs = Math.round((performance.now() - started) * 10) / 10
  const disk = blobs.kind === 'disk' ? await statfs(blobs.root).catch(() => undefined) : undefined
  return {
    ...shown,
    error,
    'latency-ms': latencyMs,
    'total-bytes': disk ? disk.blocks * disk.bsize : null,
    // For unprivileged processes: some of the free blocks are reserved.
    'free-bytes': disk ? disk.bavail * disk.bsize : null,
  }
}

function queueHealth(queues: readonly QueueCounts[]): Health['queue'] {
  const kinds = queues.map(({ name, oldest_waiting_at: oldest, ...counts }) => ({
    name,
    ...counts,
    'oldest-waiting-at': oldest,
  }))
  const sum = (count: 'waiting' | 'scheduled' | 'active' | 'failed') =>
    kinds.reduce((total, kind) => total + kind[count], 0)
  const oldest = queues.flatMap((queue) => queue.oldest_waiting_at ?? []).toSorted((a, b) => +a - +b)
  return {
    waiting: sum('waiting'),
    scheduled: sum('scheduled'),
    active: sum('active'),
    failed: sum('failed'),
    'oldest-waiting-at': oldest[0] ?? null,
    kinds,
  }
}

async function agentHealth(ctx: Ctx): Promise<Health['agents']> {
  const now = ctx.now()
  const since = onlineSince(now)
  const pools = await store.countAgents(ctx.db, { now, since })
  const sum = (count: 'online' | 'busy' | 'waiting') => pools.reduce((total, pool) => total + pool[count], 0)
  const oldest = pools.flatMap((pool) => pool.oldest_waiting_at ?? []).toSorted((a, b) => +a - +b)
  return {
    online: sum('online'),
    busy: sum('busy'),
    'jobs-waiting': sum('waiting'),
    'oldest-job-waiting-at': oldest[0] ?? null,
    pools: pools.slice(0, store.MAX_POOLS).map((pool) => ({
      id: pool.id,
      name: pool.name,
      organization: pool.organization,
      online: pool.online,
      busy: pool.busy,
      'jobs-waiting': pool.waiting,
    })),
    engines: await store.listEngines(ctx.db, since),
  }
}
