import { setTimeout as pause } from 'node:timers/promises'
import type { Blobs } from '../blobs/blobs.ts'
import { isOwnKey } from '../blobs/driver.ts'
import { BlobCorruptError } from '../blobs/errors.ts'
import { saveSweepCursor } from '../blobs/sweep.ts'
import { forEachConcurrently } from '../concurrency-limit.ts'
import type { Db } from '../db/db.ts'
import type { SealedColumn, SealedJobProperty } from '../secrets/sealed.ts'
import { type Pass, type ResealContext, countStale, countStaleJobs, resealColumn, resealJobs } from './columns.ts'

/** Everything that is sealed. */
export type Sealed = { columns: readonly SealedColumn[]; jobs: readonly SealedJobProperty[] }

/** A part of what is sealed: a column, the jobs of a kind, or all blobs. */
export type Progress = { part: string; done: number; isFinished: boolean }

export type RotationContext = Omit<ResealContext, 'blobs'> & {
  blobs: Blobs
  now: () => Date
  /** Called after each part, and for blobs in between. */
  report: (progress: Progress) => void
}

/** Time between passes over values that others had locked, in ms. */
const PASS_MS = 200
const MAX_PASSES = 300
/** Blobs sealed at the same time. A large one takes up to 48 MB of memory on its way to a bucket. */
const CONCURRENCY = 8

type Part = { name: string; reseal: () => Promise<Pass>; count: () => Promise<number> }

function partsOf(ctx: RotationContext, { columns, jobs }: Sealed): Part[] {
  return [
    ...columns.map((column) => ({
      name: `${column.table}.${column.column}`,
      reseal: async () => resealColumn(ctx, column),
      count: async () => countStale(ctx, column),
    })),
    ...jobs.map((job) => ({
      name: `jobs ${job.job}`,
      reseal: async () => resealJobs(ctx, job),
      count: async () => countStaleJobs(ctx, job),
    })),
  ]
}

/**
 * Seals all values in the database with the current secret; returns those that no secret opens. Servers may write meanwhile. It may be killed at any time;
 * the next one continues with what is left.
 */
export async function resealDatabase(ctx: RotationContext, sealed: Sealed): Promise<string[]> {
  const unreadable: string[] = []
  for (const part of partsOf(ctx, sealed)) unreadable.push(...(await resealPart(ctx, part)))
  return unreadable
}

async function resealPart(ctx: RotationContext, { name, reseal, count }: Part): Promise<string[]> {
  let done = 0
  for (let passes = 1; ; passes += 1) {
    const pass = await reseal()
    done += pass.resealed
    if ((await count()) <= pass.unreadable.length) {
      ctx.report({ part: name, done, isFinished: true })
      return pass.unreadable
    }
    if (passes === MAX_PASSES) throw new Error(`${name}: rows stay locked by other transactions`)
    await pause(PASS_MS)
  }
}

/** The parts of the database that have values of another secret, with their number. */
export async function staleParts(ctx: RotationContext, sealed: Sealed): Promise<{ name: string; count: number }[]> {
  const counted: { name: string; count: number }[] = []
  for (const { name, count } of partsOf(ctx, sealed)) counted.push({ name, count: await count() })
  return counted.filter(({ count }) => count > 0)
}

/** Seals all blobs with the current secret, from where an interrupted rotation was; returns those that no secret opens. */
export async function resealBlobs(ctx: RotationContext): Promise<string[]> {
  const position = positionOf(ctx)
  const saved = await ctx.db
    .selectFrom('blob_sweeps')
    .select('cursor')
    .where('prefix', '=', position)
    .executeTakeFirst()
  const unreadable: string[] = []
  let done = 0
  let from = saved?.cursor
  for await (const { keys, cursor } of ctx.blobs.list('', from)) {
    await forEachConcurrently(keys.filter(isOwnKey), CONCURRENCY, async (key) => {
      const result = await ctx.blobs.reseal(key).catch((error: unknown) => {
        if (error instanceof BlobCorruptError) return error
        throw error
      })
      if (result instanceof Error) unreadable.push(result.message)
      else if (result === 'foreign') unreadable.push(`blob ${key} is sealed with an unknown secret, or is no blob`)
      else if (result === 'resealed') done += 1
    })
    // A position behind an unreadable blob would let the next rotation pass over it.
    if (cursor !== from && unreadable.length === 0)
      await saveSweepCursor(ctx.db, position, { cursor, updated_at: ctx.now() })
    from = cursor
    ctx.report({ part: 'blobs', done, isFinished: false })
  }
  ctx.report({ part: 'blobs', done, isFinished: true })
  return unreadable
}

/** Has the next rotation read all blobs again. */
export async function forgetPosition(ctx: { db: Db; prefix: Buffer }) {
  await ctx.db.deleteFrom('blob_sweeps').where('prefix', '=', positionOf(ctx)).execute()
}

function positionOf({ prefix }: { prefix: Buffer }) {
  return `secret ${prefix.subarray(1).toString('hex')}`
}
