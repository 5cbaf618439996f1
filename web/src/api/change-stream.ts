import type { Change } from '@groundstate/contract/changes'
import { apiPath } from './client.ts'

export type Connection = 'connecting' | 'open' | 'lost'

export type Message =
  | { kind: 'change'; change: Change }
  /** Earlier responses may be stale. */
  | { kind: 'reset' }
  /** The server ended the stream because the user's access changed. */
  | { kind: 'end' }
  /** Repeated attempts failed: the session or the organization may no longer exist. */
  | { kind: 'refused' }
  | { kind: 'connection'; state: Connection }

/** Time without an event after which the connection counts as lost, in ms; the server sends a keep-alive every 15 s. */
const SILENCE_TIMEOUT_MS = 40_000
const FIRST_RETRY_MS = 2000
const LAST_RETRY_MS = 30_000
/** The session is checked after every so many consecutive failures. */
const FAILURES_PER_CHECK = 3

/** Exponential backoff in ms with jitter, so that browsers do not all reconnect at once after a restart. */
export function retryDelay(failures: number, random: number) {
  return Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS) * (0.5 + random / 2)
}

/** Keeps the event stream of an organization open until `signal` aborts; resolves then. */
export async function holdStream(organization: string, publish: (message: Message) => void, signal: AbortSignal) {
  let cursor: string | undefined
  let source: EventSource | undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  let silence: ReturnType<typeof setTimeout> | undefined
  let failures = 0

  function open() {
    const after = cursor === undefined ? '' : `?after=${encodeURIComponent(cursor)}`
    source = new EventSource(apiPath(`/organizations/${organization}/changes${after}`))
    // Also detects a buffering proxy, behind which no event ever arrives.
    silence = setTimeout(lose, SILENCE_TIMEOUT_MS)
    const listen = (type: string, act: (event: MessageEvent<string>) => void = () => {}) =>
      source?.addEventListener(type, (event: MessageEvent<string>) => {
        const isFirst = cursor === undefined
        if (event.lastEventId !== '') cursor = event.lastEventId
        // A stream that opens and closes immediately has not recovered.
        if (type !== 'ready') failures = 0
        clearTimeout(silence)
        silence = setTimeout(lose, SILENCE_TIMEOUT_MS)
        act(event)
        // Responses read before the subscription may be stale.
        if (type === 'ready' && isFirst) publish({ kind: 'reset' })
      })
    listen('ready', () => publish({ kind: 'connection', state: 'open' }))
    listen('change', ({ data }) => publish({ kind: 'change', change: JSON.parse(data) as Change }))
    listen('reset', () => publish({ kind: 'reset' }))
    listen('alive')
    source.addEventListener('end', () => {
      // A user still signed in continues with their current access; otherwise the frame unmounts, which aborts `signal`.
      cursor = undefined
      publish({ kind: 'end' })
      reopen()
    })
    source.addEventListener('error', lose)
  }
  function close() {
    clearTimeout(retry)
    clearTimeout(silence)
    source?.close()
  }
  function lose() {
    publish({ kind: 'connection', state: 'lost' })
    // After a broken connection the stream resumes. A refused or silent one does not: then each attempt polls.
    if (source?.readyState !== EventSource.CONNECTING) publish({ kind: 'reset' })
    reopen()
    if (failures % FAILURES_PER_CHECK === 0) publish({ kind: 'refused' })
  }
  function reopen() {
    close()
    failures += 1
    retry = setTimeout(open, retryDelay(failures, Math.random()))
  }
  open()
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  close()
}
