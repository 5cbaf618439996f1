import type { Ctx } from '../app.ts'
import { runTaskResults } from './task-results/loop.ts'

/** Work that a process looks for by itself, until the signal aborts: what can't wait for the poll of a job queue. */
export type Loop = (ctx: Ctx, signal: AbortSignal) => Promise<void>

export const LOOPS: readonly Loop[] = [runTaskResults]
