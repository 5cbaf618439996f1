import type { applySchema, planSchema } from '@groundstate/contract/plans'
import type { Wire } from '@groundstate/contract/responses'
import { hasPhaseEnded } from '@groundstate/contract/run-status'
import { useEffect, useSyncExternalStore } from 'react'
import { ownPath } from '../../../api/client.ts'
import { onChange, useConnection } from '../../../api/live.ts'
import { type LogText, createLogText } from './log-text.ts'

export type Phase = Wire<typeof planSchema> | Wire<typeof applySchema>

/** What is known of a log; `version` grows with its text. */
export type LogView = {
  text: LogText
  version: number
  state: 'reading' | 'following' | 'whole' | 'gone' | 'failed'
  error?: Error | undefined
}

/** The most that the server sends at once. */
const RANGE_BYTES = 1_048_576
const STX = 2
const ETX = 3
/** The last lines of a phase that is over may still be on their way from the agent: they are asked for again after these. */
const LATE_MS = [300, 600, 1200, 2500, 5000, 10_000, 20_000]
/** Logs of phases that nobody looks at any more are kept for the way back. */
const KEPT = 4

const UNSTARTED = new Set(['pending', 'queued'])

/** Whether a phase has a log that can be read: it has begun, and its log is still kept. */
export function hasLog(phase: Phase) {
  return hasBegun(phase) && phase.attributes['log-deleted-at'] === null
}

/** Whether a phase has begun, so that there was a log at least. */
export function hasBegun({ attributes }: Phase) {
  if (UNSTARTED.has(attributes.status)) return false
  return !hasPhaseEnded(attributes.status) || attributes['status-timestamps']['started-at'] !== undefined
}

export function isOver({ attributes }: Phase) {
  return hasPhaseEnded(attributes.status)
}

type FollowedLog = ReturnType<typeof followedLog>
const logs = new Map<string, FollowedLog>()
const NONE: LogView = { text: createLogText(), version: 0, state: 'reading' }

/** Follows the log of a phase while a component that uses it is on the page; undefined for one without a log. */
export function useLog(phase: Phase | undefined): LogView | undefined {
  const begun = phase && hasLog(phase) ? phase : undefined
  const log = begun && logOf(begun.id)
  const connection = useConnection()
  const view = useSyncExternalStore(log?.subscribe ?? noSubscription, log?.view ?? noView)
  useEffect(() => {
    // Each response about the phase is a reason to look: a change that was not told may have come before it.
    if (log && begun) log.look(begun)
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- what was not told while the connection was lost is read when it is back
  }, [log, begun, connection])
  return log && view
}

/** Reads again what could not be read. */
export function retryLog(phase: Phase) {
  logOf(phase.id).look(phase)
}

function noSubscription() {
  return () => {}
}
function noView() {
  return NONE
}

function logOf(id: string): FollowedLog {
  const known = logs.get(id)
  if (known) return known
  for (const [other, log] of logs) {
    if (logs.size < KEPT) break
    if (!log.isWatched()) logs.delete(other)
  }
  const log = followedLog(id)
  logs.set(id, log)
  return log
}

function followedLog(id: string) {
  const text = createLogText()
  const decoder = new TextDecoder()
  const listeners = new Set<() => void>()
  let view: LogView = { text, version: 0, state: 'reading' }
  let phase: Phase | undefined
  let offset = 0
  let isReading = false
  let isDue = false
  let late = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopListening: (() => void) | undefined

  function show(change: Partial<LogView>) {
    view = { ...view, error: undefined, ...change }
    for (const draw of listeners) draw()
  }

  /** Reads to the present end of the log; what is told meanwhile is read too. */
  async function read() {
    isDue = true
    if (isReading) return
    isReading = true
    clearTimeout(timer)
    try {
      // oxlint-disable-next-line no-unmodified-loop-condition -- `look` changes it
      while (isDue && phase && view.state !== 'whole' && listeners.size > 0) {
        isDue = false
        await readRanges(phase)
      }
      readLater()
    } catch (error) {
      show({ state: 'failed', error: error instanceof Error ? error : new Error(String(error)) })
    } finally {
      isReading = false
    }
  }

  async function readRanges(of: Phase) {
    for (;;) {
      const path = ownPath(of.attributes['log-read-url']).split('?', 1)[0] ?? ''
      const response = await fetch(`${path}?limit=${RANGE_BYTES}&offset=${offset}`)
      if (response.status === 404 || response.status === 410) return show({ state: 'gone' })
      if (!response.ok) throw new Error(`the log can't be read: the server answered ${response.status}`)
      const bytes = new Uint8Array(await response.arrayBuffer())
      if (bytes.length === 0) return show({ state: 'following' })
      const isEnd = bytes.at(-1) === ETX && bytes.length < RANGE_BYTES
      const from = offset === 0 && bytes[0] === STX ? 1 : 0
      offset += bytes.length
      // A character may lie across two ranges.
      text.append(decoder.decode(bytes.subarray(from, isEnd ? -1 : undefined), { stream: !isEnd }), Date.now())
      if (isEnd) text.end()
      if (bytes.length > from + (isEnd ? 1 : 0)) late = 0
      show({ version: view.version + 1, state: isEnd ? 'whole' : 'following' })
      if (isEnd || bytes.length < RANGE_BYTES) return undefined
    }
  }

  function readLater() {
    const wait = LATE_MS[late]
    if (view.state !== 'following' || !phase || !isOver(phase) || wait === undefined) return
    late += 1
    timer = setTimeout(() => void read(), wait)
  }

  return {
    view: () => view,
    isWatched: () => listeners.size > 0,
    subscribe(draw: () => void) {
      listeners.add(draw)
      stopListening ??= onChange((change) => {
        if (change.type === 'logs' && change.id === id) void read()
      })
      return () => {
        listeners.delete(draw)
        if (listeners.size > 0) return
        clearTimeout(timer)
        stopListening?.()
        stopListening = undefined
      }
    },
    look(now: Phase) {
      phase = now
      late = 0
      if (view.state !== 'whole' && view.state !== 'gone') void read()
    },
  }
}
