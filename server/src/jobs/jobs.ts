import { sql } from 'kysely'
import { type Db as QueueConnections, PgBoss } from 'pg-boss'
import type { z } from 'zod'
import type { Db } from '../db/db.ts'
import type { ConnectionPool } from '../db/pool.ts'
import type { Log } from '../log.ts'
import type { Polls } from '../polls.ts'
import type { Signals } from '../signals.ts'
import { createWaking } from './waking.ts'

/**
 * A kind of background job: the name of its queue, the shape of its data, and its retries. It is declared in a noun
 * file of its feature, so that verbs can enqueue it without importing the handler.
 */
export type JobKind<Data extends object = object> = {
  name: string
  data: z.ZodType<Data>
  /** How many run at the same time in one process. */
  concurrency: number
  /** Attempts after the first; the pause doubles from `retryDelayMs` up to `retryDelayMaxMs`. */
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

/** The part of the context that the worker itself uses. */
type WorkerContext = { db: Db; log: Log; now: () => Date }

/** A handler bound to its kind. It must be idempotent: a job runs again soon after its process has died or stood still. */
export type Handler<Context> = {
  kind: JobKind<never>
  /** A cron expression in UTC; the job also runs on this schedule, with empty data. */
  schedule?: string
  run: (ctx: Context, data: unknown, signal: AbortSignal) => Promise<void>
}

export type EnqueueOptions = {
  /** The earliest time to run. */
  startAfter?: Date
  /** At most one waiting job of the kind may have this key. */
  singletonKey?: string
}

export type Jobs = {
  /** Enqueues a job, which runs once the transaction of `db` has committed. */
  enqueue<Data extends object>(db: Db, kind: JobKind<Data>, data: Data, options?: EnqueueOptions): Promise<void>
  /** As `enqueue`, for any number of jobs in one round trip. */
  enqueueAll<Data extends object>(
    db: Db,
    kind: JobKind<Data>,
    data: readonly Data[],
    options?: EnqueueOptions,
  ): Promise<void>
  /** Creates the queues; every process calls it before it enqueues anything. */
  declare(handlers: readonly { kind: JobKind<never> }[]): Promise<void>
  /** Starts to process the queues in this process. */
  start<Context extends WorkerContext>(ctx: Context, handlers: readonly Handler<Context>[]): Promise<void>
  /** Takes no more jobs and waits up to `timeoutMs` for running ones; unfinished jobs run again elsewhere. */
  stop(timeoutMs: number): Promise<void>
  /** For tests: runs all jobs due by `ctx.now()` one after the other until none is left; returns their number. */
  runDue<Context extends WorkerContext>(ctx: Context, handlers: readonly Handler<Context>[]): Promise<number>
  [Symbol.asyncDispose](): Promise<void>
}

/** Options that an existing queue may have from an earlier version of this server. */
const COMPARED = ['retryLimit', 'expireInSeconds', 'heartbeatSeconds', 'notify'] as const

const NO_JOB = '00000000-0000-0000-0000-000000000000'

/** Creates the tables of the job queue in a database, so that clones of it start faster. */
export async function installJobs(url: string) {
  const boss = new PgBoss({ connectionString: url, schedule: false, supervise: false })
  await boss.start()
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

/**
 * Each worker of pg-boss polls, which for all of them would be dozens of statements a second. The process asks for all queues with its
 * other polls.
 */
const WORKER_POLL_SECONDS = 300
/** Resources that jobs share with the rest of the process. */
type Connected = { pool: ConnectionPool; signals: Signals; polls: Polls; log: Log }

/** On how many connections pg-boss works at once: all its workers ask for jobs at the same moment, every few seconds. */
const LANES = 2

/** Lets pg-boss use the existing connections instead of its own pool and listening connection. */
function sharedConnections(pool: ConnectionPool): QueueConnections {
  let free = LANES
  const waiting: (() => void)[] = []
  return {
    async executeSql(text, values) {
      if (free > 0) free -= 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await pool.run(text, values)
      } finally {
        const next = waiting.shift()
        if (next) next()
        else free += 1
      }
    },
  }
}

/** A process that has not said for so long that it is at work on a job is dead, and the job runs again. */
const HEARTBEAT_SECONDS = 20
/** How often the jobs of dead processes, and those that take too long, are looked for. */
const SUPERVISE_SECONDS = 20

/**
 * Jobs on PostgreSQL with pg-boss: enqueued in the caller's transaction, woken by signals, retried with backoff. A signal wakes one worker,
 * of the process that has enqueued the job where one is free; a worker that gets a job wakes the next one. pg-boss itself would notify
 * in the transaction, and transactions that notify commit one after the other.
 * `runsJobs` says whether this process runs jobs or only enqueues them.
 */
export async function createJobs(
  { pool, signals, polls, log }: Connected,
  options: { runsJobs: boolean },
): Promise<Jobs> {
  const boss = new PgBoss({
    db: sharedConnections(pool),
    // Maintenance and schedules belong to processes that run jobs.
    schedule: options.runsJobs,
    supervise: options.runsJobs,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
    // It looks after indices that it builds in the background when its version changes.
    bamIntervalSeconds: 600,
    // No job here depends on another one.
    flowIntervalSeconds: 3600,
    cronWorkerIntervalSeconds: 30,
    monitorVacuum: false,
  })
  boss.on('error', (error) => log.error({ err: error }, 'background jobs'))
  await boss.start()
  const abort = new AbortController()
  const waking = createWaking({ signals, polls }, (worker) => boss.notifyWorker(worker))

  function end() {
    abort.abort()
    waking[Symbol.dispose]()
  }

  async function tell(db: Db, name: string, { startAfter }: EnqueueOptions) {
    if (startAfter === undefined) await waking.tell(db, name)
    else waking.wakeAt(name, startAfter)
  }

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
      // It knows the new queue from now on. Else it would ask for it at the first job, on a second connection while the caller's
      // transaction holds one: transactions that hold all of them would wait for ever.
      await boss.getJobById(kind.name, NO_JOB)
    }
  }

  async function runOne<Context extends WorkerContext>(
    ctx: Context,
    handler: Handler<Context>,
    job: { id: string; data: object },
  ) {
    try {
      await handler.run(ctx, job.data, abort.signal)
    } catch (error) {
      ctx.log.error({ err: error, job: handler.kind.name, data: job.data }, 'job failed')
      throw error
    }
  }

  /** Starts a worker for one job at a time, which takes the next job without a pause. */
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
        // What wakes a worker during a job has no effect. Without this call, each job of a backlog would wait for the poll.
        boss.notifyWorker(id)
      }
    })
    queue.workers.push(id)
  }

  return {
    async enqueue(db, kind, data, options = {}) {
      await boss.send(kind.name, data, { ...options, db: executor(db, kind.name) })
      await tell(db, kind.name, options)
    },
    async enqueueAll(db, kind, data, options = {}) {
      const jobs = data.map((one) => ({ ...options, data: one }))
      await boss.insert(kind.name, jobs, { db: executor(db, kind.name) })
      await tell(db, kind.name, options)
    },
    declare,
    async start(ctx, handlers) {
      for (const handler of handlers) {
        for (let worker = 0; worker < handler.kind.concurrency; worker += 1) await work(ctx, handler)
        if (handler.schedule !== undefined) await boss.schedule(handler.kind.name, handler.schedule, {})
      }
      waking.poll()
    },
    async stop(timeoutMs) {
      end()
      await boss.stop({ graceful: true, timeout: timeoutMs, close: false })
    },
    async runDue(ctx, handlers) {
      let count = 0
      for (let before = -1; before !== count;) {
        before = count
        // The clock of a test runs ahead of the database's, so due jobs are moved to the database's present.
        await sql`update pgboss.job set start_after = now() - interval '1 second'
                   where state in ('created', 'retry') and start_after <= ${ctx.now()}`.execute(ctx.db)
        for (const handler of handlers) {
          for (const job of await boss.fetch<object>(handler.kind.name, { batchSize: 100 })) {
            count += 1
            await handler.run(ctx, job.data, abort.signal).then(
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
