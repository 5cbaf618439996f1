import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { listen } from '../server/src/testing/ports.ts'

/**
 * Faults of a link. `stall`: nothing passes, and everything arrives once it heals. `lose`: as `stall`, but the connections of that time stay
 * silent for ever, as behind a firewall that was restarted. `reset`: connections are reset. `delay`: all data is late by `DELAY_MS`.
 */
export const LINK_FAULTS = ['stall', 'lose', 'reset', 'delay'] as const
export type LinkFault = (typeof LINK_FAULTS)[number]

const DELAY_MS = 400

/** A TCP proxy to a port of this machine, which can be cut in both directions. */
export type Link = {
  /** Its port on 127.0.0.1. */
  port: number
  cut: (fault: LinkFault) => void
  heal: () => void
  /**
   * When the client sent the last data of a connection that had arrived by `arrivedAt`, in ms since the epoch; `port` is the client's as the
   * target sees it. Undefined for an unknown connection.
   */
  sentAt: (port: number, arrivedAt: number) => number | undefined
}

type Connection = { client: Socket; target: Socket; isLost: boolean; sent: number[] }

/** The link is closed when the test ends, or the test file. */
export async function createLink(port: number): Promise<Link> {
  let fault: LinkFault | undefined
  let healed = Promise.withResolvers<void>()
  const connections = new Set<Connection>()
  const byPort = new Map<number, number[]>()

  const passage = async (connection: Connection, dueAt: number) => {
    if (dueAt > Date.now()) await pause(dueAt - Date.now())
    // It may be cut again at once.
    const isBlocked = () => fault === 'stall' || connection.isLost
    while (isBlocked()) await healed.promise
  }
  const pass = (connection: Connection, source: Socket, sink: Socket) => {
    // Data keeps its order, whatever happens to the link in between.
    let passed = Promise.resolve()
    const then = (act: () => void) => {
      const dueAt = fault === 'delay' ? Date.now() + DELAY_MS : 0
      if (!connection.isLost) passed = passed.then(() => passage(connection, dueAt)).then(act)
    }
    source.on('data', (data: Buffer) => {
      if (source === connection.client) connection.sent.push(Date.now())
      then(() => void sink.write(data))
    })
    source.on('error', () => source.destroy())
    source.on('close', () => then(() => sink.destroy()))
  }

  const server = createServer((client) => {
    if (fault === 'reset') return void client.resetAndDestroy()
    const target = connect(port, '127.0.0.1')
    const connection: Connection = { client, target, isLost: fault === 'lose', sent: [] }
    connections.add(connection)
    target.once('connect', () => byPort.set(target.localPort ?? 0, connection.sent))
    pass(connection, client, target)
    pass(connection, target, client)
  })
  atEnd(() => {
    server.close()
    for (const { client, target } of connections) for (const socket of [client, target]) socket.destroy()
  })

  return {
    port: await listen(server),
    cut(next) {
      fault = next
      for (const connection of connections) {
        if (next === 'lose') connection.isLost = true
        if (next === 'reset') for (const end of [connection.client, connection.target]) end.resetAndDestroy()
      }
    },
    heal() {
      fault = undefined
      healed.resolve()
      healed = Promise.withResolvers()
    },
    sentAt: (from, arrivedAt) => byPort.get(from)?.findLast((at) => at <= arrivedAt),
  }
}
