import type { Change, ChangeType } from '@groundstate/contract/changes'
import { useEffect, useSyncExternalStore } from 'react'
import { apiPath } from './client.ts'
import { queries } from './queries.ts'

export type Connection = 'connecting' | 'open' | 'lost'

/** Answers that show parts of other resources: a change of a run changes the lists of workspaces. */
const ALSO: Partial<Record<ChangeType, readonly string[]>> = {
  runs: ['workspaces', 'overview', 'run-events', 'plans'],
  workspaces: ['overview'],
  'task-results': ['runs', 'task-stages', 'deliveries'],
  'state-versions': ['workspaces', 'outputs', 'resources'],
  agents: ['overview'],
  tasks: ['workspace-tasks', 'overview'],
}

/** Changes are gathered for this long, so that a run that goes through five states is read once. */
const GATHER_MS = 250
/** Without a sign of life for this long the connection counts as lost; the server sends one every 15 s. */
const SILENCE_MS = 40_000
const RETRY_MS = 2000

let connection: Connection = 'connecting'
const connectionListeners = new Set<() => void>()
const changeListeners = new Set<(change: Change) => void>()

/** Keeps everything that the open page shows up to date with the organization, until it is unmounted. */
export function useLiveUpdates(organization: string | undefined) {
  useEffect(() => {
    if (organization === undefined) return undefined
    return follow(organization, gather(organization))
  }, [organization])
}

/** The state of the connection over which changes come. */
export function useConnection() {
  return useSyncExternalStore(
    (draw) => {
      connectionListeners.add(draw)
      return () => connectionListeners.delete(draw)
    },
    () => connection,
  )
}

/** Calls `listener` for each change, for what is no query: a log asks for its next lines. */
export function onChange(listener: (change: Change) => void) {
  changeListeners.add(listener)
  return () => changeListeners.delete(listener)
}

function setConnection(next: Connection) {
  if (next === connection) return
  connection = next
  for (const draw of connectionListeners) draw()
}

type Message =
  | { kind: 'change'; change: Change }
  | { kind: 'reset' }
  | { kind: 'end' }
  | { kind: 'connection'; state: Connection }

/**
 * One tab of the browser holds the connection for all tabs that show the organization: a browser opens six connections
 * to a server, and a seventh tab would wait for ever. The lock passes to another tab when the first is closed.
 */
function follow(organization: string, receive: (message: Message) => void) {
  const stop = new AbortController()
  const name = `groundstate changes ${organization}`
  const channel = new BroadcastChannel(name)
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => receive(data))
  const publish = (message: Message) => {
    receive(message)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no other origins
    channel.postMessage(message)
  }
  // Without locks (an address that is no secure context) each tab has a connection of its own.
  const locks = navigator.locks as LockManager | undefined
  if (locks) {
    void locks
      .request(name, { signal: stop.signal }, async () => connect(organization, publish, stop.signal))
      .catch(() => {})
    void assumeOpen(name)
  } else void connect(organization, publish, stop.signal)
  return () => {
    stop.abort()
    channel.close()
  }
}

/** A tab that waits for the lock hears of the connection with the next message; until then another tab has it open. */
async function assumeOpen(name: string) {
  const { held } = await navigator.locks.query()
  if (connection === 'connecting' && held?.some((lock) => lock.name === name)) setConnection('open')
}

/** Holds the stream open until `signal`; resolves then. */
async function connect(organization: string, publish: (message: Message) => void, signal: AbortSignal) {
  let cursor: string | undefined
  let source: EventSource | undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  let silence: ReturnType<typeof setTimeout> | undefined

  function open() {
    const after = cursor === undefined ? '' : `?after=${encodeURIComponent(cursor)}`
    source = new EventSource(apiPath(`/organizations/${organization}/changes${after}`))
    const heard = (event: MessageEvent<string>) => {
      if (event.lastEventId !== '') cursor = event.lastEventId
      clearTimeout(silence)
      silence = setTimeout(reopen, SILENCE_MS)
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
      publish({ kind: 'end' })
      close()
    })
    source.addEventListener('error', reopen)
  }
  function close() {
    clearTimeout(retry)
    clearTimeout(silence)
    source?.close()
  }
  function reopen() {
    close()
    publish({ kind: 'connection', state: 'lost' })
    retry = setTimeout(open, RETRY_MS)
  }
  open()
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  close()
}

/** What else in the organization an answer depends on, by its query's `meta: { alsoAbout: ['varsets'] }`. */
function alsoAbout(meta: Record<string, unknown> | undefined) {
  const kinds = meta?.['alsoAbout']
  return Array.isArray(kinds) ? (kinds as readonly string[]) : []
}

/** Gathers changes, and refetches the answers that they are about. */
function gather(organization: string) {
  const pending = new Map<string, Set<string>>()
  let timer: ReturnType<typeof setTimeout> | undefined

  function refetch() {
    timer = undefined
    const due = new Map(pending)
    pending.clear()
    void queries.invalidateQueries({
      predicate: ({ queryKey: [about, scope], meta }) =>
        (typeof about === 'string' && (due.get(about)?.has(String(scope)) ?? false)) ||
        alsoAbout(meta).some((other) => due.has(other)),
    })
  }

  return (message: Message) => {
    if (message.kind === 'connection') return setConnection(message.state)
    if (message.kind === 'reset') return void queries.invalidateQueries()
    if (message.kind === 'end') return void queries.invalidateQueries({ queryKey: ['session'] })
    const { change } = message
    for (const listener of changeListeners) listener(change)
    for (const about of [change.type, ...(ALSO[change.type] ?? [])]) {
      const scopes = pending.get(about) ?? new Set<string>()
      for (const scope of [organization, change.id, change.workspace, change.run])
        if (scope !== undefined) scopes.add(scope)
      pending.set(about, scopes)
    }
    timer ??= setTimeout(refetch, GATHER_MS)
    return undefined
  }
}
