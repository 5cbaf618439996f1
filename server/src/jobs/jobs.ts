import { withLogFields } from '@groundstate/agent/log-fields'
import { traced, traceparent } from '@groundstate/agent/tracing/tracing'
import { sql } from 'kysely'
import { type Db as QueueConnections, PgBoss } from 'pg-boss'
import type { z } from 'zod'
import { concurrencyLimit } from '../concurrency-limit.ts'
import type { Db } from '../db/db.ts'
import type { ConnectionPool } from '../db/pool.ts'
import type { Log } from '../log.ts'
import { jobSeconds } from '../metrics.ts'
import type { Polls } from '../polls.ts'
import type { Signals } from '../signals.ts'
import { FAILED_JOBS_INDEX, type FailedFilter, requeueFailedJobs } from './queue-state.ts'
import { createWaking } from './waking.ts'

/** A kind of background job, declared apart from its handler, so that services can enqueue it without importing the handler. */
export type JobKind<Data extends object = object> = {
  name: string
  data: z.ZodType<Data>
  /** Maximum number of concurrent jobs per process. */
  concurrency: number
  /** Attempts after the first; the backoff doubles from `retryDelayMs` up to `retryDelayMaxMs`. */
  retryLimit: number
  retryDelayMs: number
  retryDelayMaxMs: number
  /** A longer attempt counts as failed, in ms. */
  timeLimitMs: number
}

const DEFAULTS = { concurrency: 2, retryLimit: 10, retryDelayMs: 1000, retryDelayMaxMs: 300_000, timeLimitMs: 900_000 }

export function jobKind<Data extends object>(
  name: string,
  data: z.ZodType<Data>,
  options: Partial<Omit<JobKind, 'name' | 'data'>> = {},
): JobKind<Data> {
  return { ...DEFAULTS, ...options, name, data }
}

type WorkerContext = { db: Db; log: Log; now: () => Date }

/** A handler and its kind. It must be idempotent: a job runs again if its process dies or hangs. */
export type Handler<Context> = {
  kind: JobKind<never>
  /** A cron expression in UTC; the job also runs on this schedule, with empty data. */
  schedule?: string
  run: (ctx: Context, data: unknown, signal: AbortSignal) => Promise<void>
}

type EnqueueOptions = {
  startAfter?: Date
}

export type Jobs = Awaited<ReturnType<typeof createJobs>>

/** Options of existing queues that may differ after an upgrade of the server. */
const COMPARED = ['retryLimit', 'expireInSeconds', 'heartbeatSeconds', 'notify'] as const

const NO_JOB = '00000000-0000-0000-0000-000000000000'

/** For tests: creates the tables of the job queue in a template database. */
export async function installJobs(url: string) {
  const boss = new PgBoss({ connectionString: url, schedule: false, supervise: false })
  await boss.start()
  await boss.getDb().executeSql(FAILED_JOBS_INDEX)
  await boss.stop({ graceful: false })
}

/** Lets pg-boss write in the caller's transaction. */
function executor(db: Db, queryId: string) {
  return {
    executeSql: async (text: string, values: unknown[] = []) => {
      const result = await db.getExecutor().executeQuery<Record<string, unknown>>({
        query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
        queryId: { queryId },
        sql: text,
        parameters: values,
      })
      return { rows: result.rows }
    },
  }
}

/** Long, since the process polls for all queues with one statement (`polls.ts`) instead. */
const WORKER_POLL_SECONDS = 300

type JobResources = {
  pool: ConnectionPool
  signals: Signals
  polls: Polls
  log: Log
  /** Whether an error is the failure of another system, which is logged without a stack. */
  isRemote?: (error: unknown) => boolean
}

/** Maximum number of connections that pg-boss uses at once; its workers would otherwise take all of them. */
const MAX_CONNECTIONS = 2

/** Lets pg-boss use the connections of the pool. */
function sharedConnections(pool: ConnectionPool): QueueConnections {
  const limited = concurrencyLimit(MAX_CONNECTIONS)
  return { executeSql: async (text, values) => limited(async () => pool.run(text, values)) }
}

/** The field of a job's data with the trace that it belongs to. Servers that do not know it ignore it. */
const TRACEPARENT = 'traceparent'

function withTrace(data: object) {
  const parent = traceparent()
  return parent === undefined ? data : { ...data, [TRACEPARENT]: parent }
}

/** A job without a heartbeat for this long runs again. */
const HEARTBEAT_SECONDS = 20
/** Interval of checks for lost and overdue jobs. */
const SUPERVISE_SECONDS = 20

/**
 * Jobs on PostgreSQL with pg-boss: enqueued in the caller's transaction, woken by signals, retried with backoff. A signal wakes one worker, if
 * possible of the process that enqueued the job; a worker that gets a job wakes the next one. The NOTIFY of pg-boss is not used, since
 * transactions that notify commit one after the other. With `runsJobs: false`, this process only enqueues jobs.
 */
export async function createJobs(
  { pool, signals, polls, log, isRemote = () => false }: JobResources,
  options: { runsJobs: boolean },
) {
  const boss = new PgBoss({
    db: sharedConnections(pool),
    // Maintenance and schedules belong to processes that run jobs.
    schedule: options.runsJobs,
    supervise: options.runsJobs,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
    // Maintains indexes that pg-boss builds in the background after an upgrade.
    bamIntervalSeconds: 600,
    // For dependent jobs, which we do not use.
    flowIntervalSeconds: 3600,
    cronWorkerIntervalSeconds: 30,
    monitorVacuum: false,
  })
  boss.on('error', (error) => log.error({ err: error }, 'background jobs'))
  await boss.start()
  if (options.runsJobs) await pool.run(FAILED_JOBS_INDEX, [])
  const abort = new AbortController()
  const waking = createWaking({ signals, polls }, (worker) => boss.notifyWorker(worker))

  function end() {
    abort.abort()
    waking[Symbol.dispose]()
  }

  function wake(db: Db, name: string, { startAfter }: EnqueueOptions) {
    if (startAfter === undefined) waking.wakeOne(db, name)
    else waking.wakeAt(name, startAfter)
  }

  /** Creates the queues; every process calls it before it enqueues anything. */
  async function declare(handlers: readonly { kind: JobKind<never> }[]) {
    const known = new Map((await boss.getQueues()).map((queue) => [queue.name, queue]))
    for (const { kind } of handlers) {
      const options = {
        retryLimit: kind.retryLimit,
        retryDelay: Math.max(1, Math.round(kind.retryDelayMs / 1000)),
        retryDelayMax: Math.round(kind.retryDelayMaxMs / 1000),
        retryBackoff: true,
        expireInSeconds: Math.ceil(kind.timeLimitMs / 1000),
        heartbeatSeconds: HEARTBEAT_SECONDS,
        deleteAfterSeconds: 86_400,
        notify: false,
      }
      const queue = known.get(kind.name)
      if (!queue) await boss.createQueue(kind.name, { ...options, policy: 'standard' })
      else if (COMPARED.some((name) => queue[name] !== options[name])) await boss.updateQueue(kind.name, options)
      else continue
      // Makes pg-boss cache the queue. At the first job it would query it on a second connection while the caller's transaction holds one, which
      // deadlocks when transactions hold all connections.
      await boss.getJobById(kind.name, NO_JOB)
    }
  }

  type Job = { id: string; data: object }
  async function runOne<Context extends WorkerContext>(ctx: Context, handler: Handler<Context>, job: Job) {
    const { [TRACEPARENT]: parent, ...data } = job.data as Record<string, unknown>
    const run: Record<string, string> = typeof data['runId'] === 'string' ? { run: data['runId'] } : {}
    const attributes = { 'groundstate.job.id': job.id, 'groundstate.run.id': run['run'] }
    const options = { kind: 'consumer', parent: typeof parent === 'string' ? parent : undefined, attributes } as const
    await withLogFields({ job: job.id, ...run }, async () =>
      traced(`job ${handler.kind.name}`, options, async () => attempt(ctx, handler, data)),
    )
  }

  async function attempt<Context extends WorkerContext>(ctx: Context, handler: Handler<Context>, data: object) {
    const endTimer = jobSeconds.startTimer({ kind: handler.kind.name })
    try {
      await handler.run(ctx, data, abort.signal)
      endTimer({ outcome: 'completed' })
    } catch (error) {
      endTimer({ outcome: error === abort.signal.reason ? 'interrupted' : 'failed' })
      const details = { kind: handler.kind.name, data }
      // What the shutdown interrupted runs again.
      if (error === abort.signal.reason) ctx.log.info(details, 'job interrupted')
      else if (isRemote(error)) ctx.log.warn({ ...details, reason: String(error) }, 'job failed')
      else ctx.log.error({ err: error, ...details }, 'job failed')
      throw error
    }
  }

  /** Starts a worker, which runs one job at a time. */
  async function work<Context extends WorkerContext>(ctx: Context, handler: Handler<Context>) {
    const { name } = handler.kind
    const queue = waking.open(name)
    let id = ''
    id = await boss.work(name, { batchSize: 1, pollingIntervalSeconds: WORKER_POLL_SECONDS }, async ([job]) => {
      queue.busy.add(id)
      // One signal may represent many jobs.
      queue.wake()
      try {
        if (job) await runOne(ctx, handler, { id: job.id, data: job.data as object })
      } finally {
        queue.busy.delete(id)
        // Wake-ups during a job have no effect. Without this call, each job of a backlog would wait for the poll.
        boss.notifyWorker(id)
      }
    })
    queue.workers.push(id)
  }

  return {
    /** Enqueues a job, which runs after the transaction of `db` commits. */
    async enqueue<Data extends object>(db: Db, kind: JobKind<Data>, data: Data, options: EnqueueOptions = {}) {
      await boss.send(kind.name, withTrace(data), { ...options, db: executor(db, kind.name) })
      wake(db, kind.name, options)
    },
    /** Like `enqueue`, for any number of jobs in one round trip. */
    async enqueueAll<Data extends object>(
      db: Db,
      kind: JobKind<Data>,
      data: readonly Data[],
      options: EnqueueOptions = {},
    ) {
      const jobs = data.map((one) => ({ ...options, data: withTrace(one) }))
      await boss.insert(kind.name, jobs, { db: executor(db, kind.name) })
      wake(db, kind.name, options)
    },
    /** Makes failed jobs run again; returns them. */
    async retry(db: Db, filter: FailedFilter) {
      const jobs = await requeueFailedJobs(db, filter)
      for (const name of new Set(jobs.map((job) => job.name))) wake(db, name, {})
      return jobs
    },
    declare,
    /** Starts workers in this process. */
    async start<Context extends WorkerContext>(ctx: Context, handlers: readonly Handler<Context>[]) {
      for (const handler of handlers) {
        for (let worker = 0; worker < handler.kind.concurrency; worker += 1) await work(ctx, handler)
        if (handler.schedule !== undefined) await boss.schedule(handler.kind.name, handler.schedule, {})
      }
      waking.poll()
    },
    /** Drains for up to `timeoutMs`: takes no more jobs and waits for running ones. Unfinished jobs run again elsewhere. */
    async stop(timeoutMs: number) {
      end()
      await boss.stop({ graceful: true, timeout: timeoutMs, close: false })
    },
    /** For tests: runs all jobs due by `ctx.now()` in sequence; returns their number. */
    async runDue<Context extends WorkerContext>(ctx: Context, handlers: readonly Handler<Context>[]) {
      let count = 0
      for (let before = -1; before !== count;) {
        before = count
        // The clock of a test is ahead of the database's, so due jobs are moved to the database's present.
        await sql`update pgboss.job set start_after = now() - interval '1 second'
                   where state in ('created', 'retry') and start_after <= ${ctx.now()}`.execute(ctx.db)
        for (const handler of handlers) {
          for (const job of await boss.fetch<object>(handler.kind.name, { batchSize: 100 })) {
            count += 1
            await runOne(ctx, handler, job).then(
              () => boss.complete(handler.kind.name, job.id),
              (error: unknown) => boss.fail(handler.kind.name, job.id, { message: String(error) }),
            )
          }
        }
      }
      return count
    },
    async [Symbol.asyncDispose]() {
      end()
      await boss.stop({ graceful: false, timeout: 1000 })
    },
  }
}
