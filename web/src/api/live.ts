import type { Change, ChangeType } from '@groundstate/contract/changes'
import { useEffect, useSyncExternalStore } from 'react'
import { BASE } from './base.ts'
import { type Connection, holdStream, type Message } from './change-stream.ts'
import { gathered } from './gathered.ts'
import { invalidate, queries } from './queries.ts'

/** Queries that include parts of other resources: a changed run changes lists of workspaces. */
const ALSO: Partial<Record<ChangeType, readonly string[]>> = {
  runs: ['workspaces', 'overview', 'dependency-graph'],
  'run-triggers': ['dependency-graph'],
  workspaces: ['overview', 'team-workspaces', 'dependency-graph'],
  projects: ['team-projects'],
  'task-results': ['runs', 'deliveries', 'run-tasks'],
  'workspace-tasks': ['run-tasks'],
  'state-versions': ['workspaces', 'outputs', 'resources'],
  agents: ['overview'],
  tasks: ['overview', 'run-tasks'],
}

/** Gets each change; undefined when some may have been missed. */
type ChangeListener = (change: Change | undefined) => void

let connection: Connection = 'connecting'
const connectionListeners = new Set<() => void>()
const changeListeners = new Set<ChangeListener>()

export function useLiveUpdates(organization: string | undefined) {
  useEffect(
    () => (organization === undefined ? undefined : follow(organization, receiver(organization))),
    [organization],
  )
}

export function useConnection() {
  return useSyncExternalStore(
    (draw) => {
      connectionListeners.add(draw)
      return () => connectionListeners.delete(draw)
    },
    () => connection,
  )
}

/** Calls `listener` for each change, for data outside of queries, such as the next lines of a log. */
export function onChange(listener: ChangeListener) {
  changeListeners.add(listener)
  return () => changeListeners.delete(listener)
}

function setConnection(next: Connection) {
  if (next === connection) return
  connection = next
  for (const draw of connectionListeners) draw()
}

/**
 * Shares one connection between all tabs that show the organization: a browser opens six connections per server, so a
 * seventh tab would wait forever. The Web Lock passes to another tab when the first one closes.
 */
function follow(organization: string, receive: (message: Message) => void) {
  const stop = new AbortController()
  // Another installation under the same host name shares locks and channels with this one.
  const name = `groundstate changes ${BASE} ${organization}`
  const channel = new BroadcastChannel(name)
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => receive(data))
  const publish = (message: Message) => {
    receive(message)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no other origins
    channel.postMessage(message)
  }
  // The previous state was that of another organization.
  setConnection('connecting')
  // Without locks (an insecure context) each tab has its own connection.
  const locks = navigator.locks as LockManager | undefined
  if (locks) {
    void locks
      .request(name, { signal: stop.signal }, async () => holdStream(organization, publish, stop.signal))
      .catch(() => {})
    void assumeOpen(name, stop.signal)
  } else void holdStream(organization, publish, stop.signal)
  return () => {
    stop.abort()
    channel.close()
  }
}

/** A tab waiting for the lock learns the state with the next message; until then, it assumes that the holder is connected. */
async function assumeOpen(name: string, signal: AbortSignal) {
  const { held, pending } = await navigator.locks.query()
  const isOf = (lock: LockInfo) => lock.name === name
  if (!signal.aborted && connection === 'connecting' && held?.some(isOf) && pending?.some(isOf)) setConnection('open')
}

/** Work that refetches wait for. */
const holds = new Set<Promise<unknown>>()

/** Holds the refetches of reported changes until the work has settled. */
export async function holdRefetches<T>(work: () => Promise<T>): Promise<T> {
  const held = work()
  holds.add(held)
  try {
    return await held
  } finally {
    holds.delete(held)
  }
}

/** Handles messages: changes are collected, and the affected queries refetched. */
function receiver(organization: string) {
  const pending = new Map<string, Set<string>>()
  const refetch = gathered(async () => {
    await Promise.allSettled(holds)
    const due = new Map(pending)
    pending.clear()
    await queries.invalidateQueries({
      predicate: ({ queryKey: [about, scope], meta }) =>
        (typeof about === 'string' && (due.get(about)?.has(String(scope)) ?? false)) ||
        // Other types that the query depends on: `meta: { dependsOn: ['varsets'] }`.
        ((meta?.['dependsOn'] ?? []) as readonly string[]).some((other) => due.has(other)),
    })
  })

  function note(change: Change) {
    for (const listener of changeListeners) listener(change)
    for (const about of [change.type, ...(ALSO[change.type] ?? [])]) {
      const scopes = pending.get(about) ?? new Set<string>()
      for (const scope of [organization, change.id, change.workspace, change.run])
        if (scope !== undefined) scopes.add(scope)
      pending.set(about, scopes)
    }
    refetch()
  }

  return (message: Message) => {
    if (message.kind === 'change') note(message.change)
    else if (message.kind === 'connection') setConnection(message.state)
    else if (message.kind === 'refused') void invalidate(['session'], ['organizations'])
    else {
      for (const listener of changeListeners) listener(undefined)
      void queries.invalidateQueries()
    }
  }
}
