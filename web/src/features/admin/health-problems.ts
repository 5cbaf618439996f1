import { byteSize, counted } from '../../components/numbers.ts'
import { duration } from '../../components/time.tsx'
import type { Health } from './health.ts'

export type Problem = {
  part: 'queue' | 'agents' | 'database' | 'storage'
  text: string
  advice: string
  /** A heading of docs/OPERATIONS.md. */
  anchor?: string
  link?: { to: string; text: string }
  isSevere?: boolean
}

const SLOW_MS = 200
const OLD_JOB_MS = 60_000
const OLD_RUN_MS = 300_000
const FEW_FREE = 0.1
const VERY_FEW_FREE = 0.03
const MANY_CONNECTIONS = 0.9

/** Problems, each with its remedy. */
export function problemsOf(health: Health): Problem[] {
  return [...storageProblems(health), ...databaseProblems(health), ...queueProblems(health), ...agentProblems(health)]
}

function storageProblems({ storage }: Health): Problem[] {
  const { error, kind, 'free-bytes': free, 'total-bytes': total } = storage
  if (error !== null) {
    return [
      {
        part: 'storage',
        text: `State, logs and archives can’t be read: ${error}.`,
        advice:
          kind === 'disk'
            ? 'Check that the data directory is mounted and readable by the server.'
            : 'Check the bucket, its credentials and the network.',
        anchor: 'keep-the-blobs-with-their-database',
        isSevere: true,
      },
    ]
  }
  if (free === null || total === null || free / total > FEW_FREE) return []
  return [
    {
      part: 'storage',
      text: `Only ${byteSize(free)} of ${byteSize(total)} are free.`,
      advice: 'Runs fail when the disk is full: enlarge it, or shorten the retention periods.',
      anchor: 'what-is-kept-and-how-long',
      isSevere: free / total <= VERY_FEW_FREE,
    },
  ]
}

function databaseProblems({ database }: Health): Problem[] {
  const { connections, 'max-connections': max, 'latency-ms': latency } = database
  const problems: Problem[] = []
  if (connections / max > MANY_CONNECTIONS) {
    problems.push({
      part: 'database',
      text: `${connections} of ${max} connections are in use.`,
      advice: 'Raise max_connections, or lower GROUNDSTATE_DATABASE_POOL_SIZE of each server.',
      anchor: 'use-your-own-database-and-several-replicas',
    })
  }
  if (latency > SLOW_MS) {
    problems.push({
      part: 'database',
      text: `A round trip takes ${latency.toLocaleString('en')} ms.`,
      advice: 'Check the load of the database and the network between it and the server.',
    })
  }
  return problems
}

function queueProblems({ queue, 'measured-at': now }: Health): Problem[] {
  const problems: Problem[] = []
  const waitingMs = ageOf(queue['oldest-waiting-at'], now)
  if (waitingMs > OLD_JOB_MS) {
    problems.push({
      part: 'queue',
      text: `The oldest job has waited for ${duration(waitingMs)}.`,
      advice: 'Check that a server with the role all or worker runs, and its log.',
      anchor: 'use-your-own-database-and-several-replicas',
      isSevere: waitingMs > 10 * OLD_JOB_MS,
    })
  }
  if (queue.failed > 0) {
    problems.push({
      part: 'queue',
      text: `${counted(queue.failed, 'job')} failed within the last day.`,
      advice: 'Read the errors, fix the cause, then retry them.',
      link: { to: '/app/admin/jobs', text: 'Show failed jobs' },
    })
  }
  return problems
}

function agentProblems({ agents, 'measured-at': now }: Health): Problem[] {
  const waiting = agents['jobs-waiting']
  const waitingMs = ageOf(agents['oldest-job-waiting-at'], now)
  if (agents.online === 0) {
    return [
      {
        part: 'agents',
        text: 'No agent is online.',
        advice: 'Runs wait until one is. Check the log of the server for the built-in agent, or start an agent.',
        isSevere: waiting > 0,
      },
    ]
  }
  if (waitingMs <= OLD_RUN_MS) return []
  return [
    {
      part: 'agents',
      text: `${counted(waiting, 'run')} ${waiting === 1 ? 'waits' : 'wait'} for an agent, the oldest for ${duration(waitingMs)}.`,
      advice: 'Start more agents in the pool, or raise their concurrency and the limits of the organization.',
      anchor: 'limit-concurrent-runs',
    },
  ]
}

function ageOf(at: string | null, now: string) {
  return at === null ? 0 : Date.parse(now) - Date.parse(at)
}
