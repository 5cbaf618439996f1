import type { AgentJob } from '@groundstate/contract/agent'
import type { AgentContext } from './context.ts'
import type { EngineSearch } from './engine.ts'
import type { Served } from './gateway.ts'
import type { Journal } from './journal.ts'
import type { AgentLog } from './log.ts'

/** What the jobs of an agent are run with. */
export type JobSettings = {
  agent: AgentContext
  workDir: string
  search: EngineSearch
  /** Log output beyond this is dropped, in bytes. */
  logLimitBytes: number
  log: AgentLog
  /** Takes over the journal of an apply whose outcome is refused, and tells it later. */
  tellLater: (journal: Journal) => void
  /** Does what is left of a job beside all other work, until the signal aborts. Resolves at its end, however that comes. */
  beside: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>
  /** Whether this slot would go on with the apply of a plan that it has made. */
  takesApply: () => boolean
  /** Aborts when the agent has to end soon. */
  forceful: AbortSignal
}

/** The apply that came with the response to the result of its plan, and what the engine of that was answered. */
export type Next = {
  job: AgentJob
  responses: ReturnType<Served['responses']>
  /** To be called when the apply is over: what is left of its plan has waited for that. */
  onEnd: () => void
}

/** Whether a job has begun here, and what comes next. */
export type JobEnd = { hasBegun: boolean; next?: Next | undefined }
