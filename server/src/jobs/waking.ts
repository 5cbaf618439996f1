import { sql } from 'kysely'
import type { Db } from '../db/db.ts'
import type { Polls } from '../polls.ts'
import type { Signals } from '../signals.ts'

/** Maximum jitter of processes that were notified of the same job, in ms: usually the first one gets it. */
const STAGGER_MS = 50
/** Jobs scheduled further ahead than this, in ms, are left to the polls. */
const MAX_TIMER_MS = 60_000
/** Timers may fire a millisecond early, when the job is not due yet. */
const TIMER_MARGIN_MS = 10

/** Ids of all workers of a queue in this process, and of the busy ones. */
type Queue = {
  workers: string[]
  busy: Set<string>
  /** Makes an idle worker fetch a job. */
  wake: () => void
}

/** Wakes one worker per job, if possible of the process that enqueued it, so that not every worker of every process queries the queue. */
export function createWaking({ signals, polls }: { signals: Signals; polls: Polls }, notify: (worker: string) => void) {
  const queues = new Map<string, Queue>()
  const subscriptions = new DisposableStack()

  function open(name: string) {
    const existing = queues.get(name)
    if (existing) return existing
    const queue: Queue = {
      workers: [],
      busy: new Set(),
      wake() {
        const idle = queue.workers.find((id) => !queue.busy.has(id))
        if (idle !== undefined && !subscriptions.disposed) notify(idle)
      },
    }
    const onSignal = (processId: string) => {
      if (processId === signals.id) queue.wake()
      else if (processId === '') setTimeout(queue.wake, Math.random() * STAGGER_MS).unref()
    }
    subscriptions.use(signals.listen(topicOf(name), onSignal, () => queue.workers.length > queue.busy.size))
    queues.set(name, queue)
    return queue
  }

  return {
    open,
    /** Wakes a worker of some process after the transaction of `db` commits. */
    wakeOne(db: Db, name: string) {
      signals.publishToOne(db, topicOf(name))
    },
    /** Wakes a worker of this process at a time in the near future. */
    wakeAt(name: string, at: Date) {
      const delayMs = at.getTime() - Date.now()
      if (delayMs < MAX_TIMER_MS) setTimeout(() => queues.get(name)?.wake(), delayMs + TIMER_MARGIN_MS).unref()
    },
    /** Adds a query for due jobs to the polls of the process, for lost signals and jobs scheduled further ahead. */
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

/** SQL of those queues that have a due job. */
function dueQueues(names: readonly string[]) {
  return sql<string[]>`array(select queue.name from unnest(${names}::text[]) queue (name)
    where exists (select from pgboss.job j
      where j.name = queue.name and j.state < 'active' and not j.blocked and j.start_after <= now()))`
}
