import { hasPhaseEnded } from '@groundstate/contract/run-status'
import { useEffect, useSyncExternalStore } from 'react'
import { errorOf, ownPath } from '../../../api/client.ts'
import { onChange, useConnection } from '../../../api/live.ts'
import { counted } from '../../../components/numbers.ts'
import { exactTime } from '../../../components/time.tsx'
import type { Apply, Plan } from '../run.ts'
import { type LogText, createLogText } from './log-text.ts'

export type Phase = Plan | Apply

/** Snapshot of a log; `version` increases with its text. */
export type LogView = {
  text: LogText
  version: number
  /** When the text last grew, in ms. */
  grownAt: number
  state: 'loading' | 'following' | 'complete' | 'deleted' | 'failed'
  error?: Error | undefined
}

const CHUNK_BYTES = 1_048_576
const STX = 2
const ETX = 3
/** The agent may still be sending the last lines of a phase that has ended: delays between reads for them. */
const LATE_RETRY_DELAYS_MS = [300, 600, 1200, 2500, 5000, 10_000, 20_000]
const MAX_CACHED_LOGS = 4

/** Whether the log of a phase exists and has not been deleted. */
export function hasLog(phase: Phase) {
  return hasStarted(phase) && phase.attributes['log-deleted-at'] === null
}

/** Whether an agent has started the phase, so that it has or had a log. */
export function hasStarted({ attributes: { status, 'status-timestamps': times } }: Phase) {
  return hasPhaseEnded(status) ? times['started-at'] !== undefined : status === 'running'
}

export function hasEnded({ attributes }: Phase) {
  return hasPhaseEnded(attributes.status)
}

/** Retention of deleted data of a phase: "was retained for 90 days, until 12 May 2026, 10:00". */
export function retentionText({ attributes }: Phase, deletedAt: string) {
  const endedAt = attributes['status-timestamps'][`${attributes.status}-at`]
  const days = endedAt === undefined ? 0 : Math.floor((Date.parse(deletedAt) - Date.parse(endedAt)) / 86_400_000)
  return `was retained ${days > 0 ? `for ${counted(days, 'day')}, ` : ''}until ${exactTime(deletedAt)}`
}

type FollowedLog = ReturnType<typeof followLog>
const logs = new Map<string, FollowedLog>()
const NO_LOG = { subscribe: () => () => {}, view: () => undefined }

/** Follows the log of a phase while a component uses it; undefined if the phase has no log. */
export function useLog(phase: Phase | undefined): LogView | undefined {
  const started = phase && hasLog(phase) ? phase : undefined
  const log = started && logOf(started.id)
  const connection = useConnection()
  const view = useSyncExternalStore(log?.subscribe ?? NO_LOG.subscribe, log?.view ?? NO_LOG.view)
  useEffect(() => {
    // Every response about the phase triggers a read, since its change event may have been missed.
    if (log && started) log.update(started)
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- reads what was missed while the connection was lost
  }, [log, started, connection])
  return log && view
}

export function retryLog(phase: Phase) {
  logOf(phase.id).update(phase)
}

function logOf(id: string): FollowedLog {
  const cached = logs.get(id)
  if (cached) return cached
  for (const [other, log] of logs) {
    if (logs.size < MAX_CACHED_LOGS) break
    if (!log.isWatched()) logs.delete(other)
  }
  const log = followLog(id)
  logs.set(id, log)
  return log
}

function followLog(id: string) {
  const text = createLogText()
  const decoder = new TextDecoder()
  const listeners = new Set<() => void>()
  let view: LogView = { text, version: 0, grownAt: 0, state: 'loading' }
  let phase: Phase | undefined
  let offset = 0
  let isReading = false
  let isDue = false
  let lateRetries = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopListening: (() => void) | undefined

  function show(change: Partial<LogView>) {
    view = { ...view, error: undefined, ...change }
    for (const notify of listeners) notify()
  }

  /** Reads to the current end of the log, and again if called during a read. */
  async function read() {
    isDue = true
    if (isReading) return
    isReading = true
    clearTimeout(timer)
    try {
      // oxlint-disable-next-line no-unmodified-loop-condition -- `update` changes it
      while (isDue && phase && view.state !== 'complete' && listeners.size > 0) {
        isDue = false
        await readChunks(phase)
      }
      scheduleLateRead()
    } catch (error) {
      show({ state: 'failed', error: errorOf(error) })
    } finally {
      isReading = false
    }
  }

  async function readChunks({ attributes }: Phase) {
    for (;;) {
      const path = ownPath(attributes['log-read-url']).split('?', 1)[0] ?? ''
      const response = await fetch(`${path}?limit=${CHUNK_BYTES}&offset=${offset}`)
      if (response.status === 404 || response.status === 410) return show({ state: 'deleted' })
      if (!response.ok) throw new Error(`cannot read the log: the server returned ${response.status}`)
      const bytes = new Uint8Array(await response.arrayBuffer())
      if (bytes.length === 0) return show({ state: 'following' })
      const isEnd = bytes.at(-1) === ETX && bytes.length < CHUNK_BYTES
      const from = offset === 0 && bytes[0] === STX ? 1 : 0
      offset += bytes.length
      // A character may span two chunks.
      text.append(decoder.decode(bytes.subarray(from, isEnd ? -1 : undefined), { stream: !isEnd }), Date.now())
      if (isEnd) text.end()
      if (bytes.length > from + (isEnd ? 1 : 0)) lateRetries = 0
      show({ version: view.version + 1, grownAt: Date.now(), state: isEnd ? 'complete' : 'following' })
      if (isEnd || bytes.length < CHUNK_BYTES) return undefined
    }
  }

  function scheduleLateRead() {
    const delay = LATE_RETRY_DELAYS_MS[lateRetries]
    if (view.state !== 'following' || !phase || !hasEnded(phase) || delay === undefined) return
    lateRetries += 1
    timer = setTimeout(() => void read(), delay)
  }

  return {
    view: () => view,
    isWatched: () => listeners.size > 0,
    subscribe(notify: () => void) {
      listeners.add(notify)
      stopListening ??= onChange((change) => {
        if (!change || (change.type === 'logs' && change.id === id)) void read()
      })
      return () => {
        listeners.delete(notify)
        if (listeners.size > 0) return
        clearTimeout(timer)
        stopListening?.()
        stopListening = undefined
      }
    },
    update(latest: Phase) {
      phase = latest
      lateRetries = 0
      if (view.state !== 'complete' && view.state !== 'deleted') void read()
    },
  }
}
