import type { Change } from '@groundstate/contract/changes'
import { apiPath } from './client.ts'

export type Connection = 'connecting' | 'open' | 'lost'

export type Message =
  | { kind: 'change'; change: Change }
  /** Earlier responses may be stale. */
  | { kind: 'reset' }
  /** The server has ended the stream: what the person may see is another by now. */
  | { kind: 'end' }
  /** The stream has been refused again and again: perhaps there is no session any more, or no such organization. */
  | { kind: 'refused' }
  | { kind: 'connection'; state: Connection }

/** Time without an event after which the connection counts as lost, in ms; the server sends a keep-alive every 15 s. */
const DATABASE_TIMEOUT_MS = 40_000
const FIRST_RETRY_MS = 2000
const LAST_RETRY_MS = 30_000
/** After so many failures in a row, and again after as many, the session is looked at. */
const SUSPICIOUS = 3

/** How long to wait after so many failures: longer each time, and not the same in all browsers that a restart has cut off. */
export function retryDelay(failures: number, random: number) {
  return Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS) * (0.5 + random / 2)
}

/** Holds the stream of changes of an organization open until `signal`; resolves then. */
export async function holdStream(organization: string, publish: (message: Message) => void, signal: AbortSignal) {
  let cursor: string | undefined
  let source: EventSource | undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  let silence: ReturnType<typeof setTimeout> | undefined
  let failures = 0

  function open() {
    const after = cursor === undefined ? '' : `?after=${encodeURIComponent(cursor)}`
    source = new EventSource(apiPath(`/organizations/${organization}/changes${after}`))
    // A proxy that holds answers back shows itself by silence from the start.
    silence = setTimeout(lose, DATABASE_TIMEOUT_MS)
    const heard = (event: MessageEvent<string>) => {
      if (event.lastEventId !== '') cursor = event.lastEventId
      // A stream that only begins, and ends again, has not recovered.
      if (event.type !== 'ready') failures = 0
      clearTimeout(silence)
      silence = setTimeout(lose, DATABASE_TIMEOUT_MS)
    }
    source.addEventListener('ready', (event: MessageEvent<string>) => {
      const isFirst = cursor === undefined
      heard(event)
      publish({ kind: 'connection', state: 'open' })
      // What the page has read may be older than the subscription.
      if (isFirst) publish({ kind: 'reset' })
    })
    source.addEventListener('change', (event: MessageEvent<string>) => {
      heard(event)
      publish({ kind: 'change', change: JSON.parse(event.data) as Change })
    })
    source.addEventListener('reset', (event: MessageEvent<string>) => {
      heard(event)
      publish({ kind: 'reset' })
    })
    source.addEventListener('alive', heard)
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
    reopen()
    if (failures % SUSPICIOUS === 0) publish({ kind: 'refused' })
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
