import { sql } from 'kysely'
import type { Db } from '../db/db.ts'
import type { Polls } from '../polls.ts'
import type { Signals } from '../signals.ts'

/** Jitter before processes that were signalled about a job fetch it, in ms: usually the first one gets it. */
const STAGGER_MS = 50
/** Jobs for later than this, in ms, are found by the polls. */
const MAX_TIMER_MS = 60_000
/** A timer may fire a millisecond early, when the database does not find the job due yet. */
const TIMER_MARGIN_MS = 10

/** The ids of the workers of a queue in this process, and of those that are at a job. */
export type Queue = {
  workers: string[]
  busy: Set<string>
  /** Makes a worker that is free look for a job. */
  wake: () => void
}

/** Wakes the workers of background jobs in this process. */
export type Waking = Disposable & {
  /** The workers of a queue. */
  open: (name: string) => Queue
  /** Lets a worker of some process look for a job once the transaction of `db` has committed. */
  tell: (db: Db, name: string) => Promise<void>
  /** Makes a worker of this process look for a job at that time, unless it is far away. */
  wakeAt: (name: string, at: Date) => void
  /** Looks for jobs that are due with the polls of the process: those of which no signal has come, and those for later. */
  poll: () => void
}

/**
 * A signal wakes one worker, of the process that has enqueued the job where one is free. So a job that is enqueued costs one look and not
 * one for each worker of each process.
 */
export function createWaking(
  { signals, polls }: { signals: Signals; polls: Polls },
  notify: (worker: string) => void,
): Waking {
  const queues = new Map<string, Queue>()
  const subscriptions = new DisposableStack()

  function open(name: string) {
    const known = queues.get(name)
    if (known) return known
    const queue: Queue = {
      workers: [],
      busy: new Set(),
      wake() {
        const free = queue.workers.find((id) => !queue.busy.has(id))
        if (free !== undefined && !subscriptions.disposed) notify(free)
      },
    }
    const onSignal = (to: string) => {
      if (to === signals.id) queue.wake()
      else if (to === '') setTimeout(queue.wake, Math.random() * STAGGER_MS).unref()
    }
    subscriptions.use(signals.listen(topicOf(name), onSignal, () => queue.workers.length > queue.busy.size))
    queues.set(name, queue)
    return queue
  }

  return {
    open,
    async tell(db, name) {
      signals.publishToOne(db, topicOf(name))
    },
    wakeAt(name, at) {
      const delayMs = at.getTime() - Date.now()
      if (delayMs < MAX_TIMER_MS) setTimeout(() => queues.get(name)?.wake(), delayMs + TIMER_MARGIN_MS).unref()
    },
    poll() {
      const names = [...queues.keys()]
      const onValue = (due: readonly string[]) => due.forEach((name) => queues.get(name)?.wake())
      subscriptions.use(polls.add({ query: () => dueQueues(names), onValue }))
    },
    [Symbol.dispose]() {
      subscriptions.dispose()
    },
  }
}

function topicOf(name: string) {
  return `jobs:${name}`
}

/** SQL of those of the queues that have a job which is due. */
function dueQueues(names: readonly string[]) {
  return sql<string[]>`array(select asked.name from unnest(${names}::text[]) asked (name)
    where exists (select from pgboss.job j
      where j.name = asked.name and j.state < 'active' and not j.blocked and j.start_after <= now()))`
}
