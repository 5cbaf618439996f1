import type { ChainFiringRow, ChainRunRow } from './chain-store.ts'

/** The chain that a run belongs to: what has led to it, and what it has led to. */
export type TriggerChain = { runId: string; runs: ChainRunRow[]; firings: ChainFiringRow[]; truncated: boolean }
