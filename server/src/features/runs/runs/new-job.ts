import type { Insertable } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'

/** A job that is to be queued. The database gives it its place in the queue. */
export type NewJob = Omit<Insertable<Schema['agent_jobs']>, 'round' | 'tag' | 'asked_engine'> & {
  /** What it asks for: the product is null where nobody has named one, and the workspace's own is taken then. */
  engine: { product: Schema['runs']['engine_product'] | null; version: string; required: boolean }
}

/** The classes of the queue of a pool, in the order in which they are served. */
export const QUEUE_CLASS = { apply: 0, plan: 1, planOnly: 2 } as const
export type QueueClass = (typeof QUEUE_CLASS)[keyof typeof QUEUE_CLASS]

export function queueClass(kind: 'plan' | 'apply', isPlanOnly: boolean): QueueClass {
  if (kind === 'apply') return QUEUE_CLASS.apply
  return isPlanOnly ? QUEUE_CLASS.planOnly : QUEUE_CLASS.plan
}
