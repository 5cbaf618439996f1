import { GitError } from '@groundstate/agent/git/errors'
import type { Ctx } from '../../../app.ts'
import { HostError } from '../../../vcs-hosts/host.ts'

/*
 * Jobs of all connections share the workers of this process. So that a host that hangs does not hold them all, each connection has few at
 * the same time, and after a failure of its host none for a while.
 */

const MAX_AT_ONCE = 4
/** Time to wait for others, in ms: it doubles, and varies. */
const BUSY_MS = 1000
const MAX_BUSY_MS = 16_000
/** Pause after a failure, in ms: it doubles, too. */
const FIRST_PAUSE_MS = 2000
const MAX_PAUSE_MS = 60_000

const busy = new Map<string, number>()
const pauses = new Map<string, { count: number; until: number }>()

type Throttled = { connection: string | null; waits: number }

/**
 * Runs `work`, which asks the host of a connection. If that has to wait, returns when to call again instead; `waits` says how often the
 * caller has waited.
 */
export async function throttled<Result>(
  ctx: Pick<Ctx, 'now'>,
  { connection, waits }: Throttled,
  work: () => Promise<Result>,
): Promise<{ result: Result } | { at: Date }> {
  const key = connection ?? ''
  const until = pauses.get(key)?.until ?? 0
  if (ctx.now().getTime() < until) return { at: new Date(until) }
  const count = busy.get(key) ?? 0
  if (count >= MAX_AT_ONCE) return { at: busyUntil(ctx, waits) }
  busy.set(key, count + 1)
  try {
    const result = await work()
    pauses.delete(key)
    return { result }
  } catch (error) {
    if ((error instanceof GitError || error instanceof HostError) && error.mayPass) pause(key, ctx.now().getTime())
    throw error
  } finally {
    const rest = (busy.get(key) ?? 1) - 1
    if (rest === 0) busy.delete(key)
    else busy.set(key, rest)
  }
}

/** Failures at the same time count once. */
function pause(key: string, now: number) {
  const { count, until } = pauses.get(key) ?? { count: 0, until: 0 }
  if (now < until) return
  for (const [other, { until: end }] of pauses) if (now > end + 2 * MAX_PAUSE_MS) pauses.delete(other)
  pauses.set(key, { count: count + 1, until: now + Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** count) })
}

/** When to try again what others are busy with. */
export function busyUntil(ctx: Pick<Ctx, 'now'>, waits: number) {
  const delayMs = Math.min(MAX_BUSY_MS, BUSY_MS * 2 ** waits)
  return new Date(ctx.now().getTime() + delayMs * (0.5 + Math.random() / 2))
}
