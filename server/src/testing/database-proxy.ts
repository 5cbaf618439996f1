import { connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { whenFileEnds } from './cleanup.ts'

/** A TCP proxy between the app and its database. */
export type DatabaseProxy = {
  /** The URL of the same database, through the proxy. */
  url: string
  /**
   * Passes the next COMMIT on, keeps its answer and ends the connection, as a network does that fails at this very moment.
   * Resolves when it has happened: the transaction is committed then.
   */
  loseNextCommit: () => Promise<void>
}

/** The answer of PostgreSQL to a COMMIT: a CommandComplete message with this tag. */
const COMMITTED = Buffer.from('COMMIT\0')

/** The proxy ends with the test file. */
export async function createDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const { host, port, user, password, database } = new pg.Client(databaseUrl)
  const open = () => (host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host))
  const sockets = new Set<Socket>()
  let onLost: (() => void) | undefined

  const server = createServer((client) => {
    const target = open()
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    client.pipe(target)
    target.on('data', (data: Buffer) => {
      if (!onLost || !data.includes(COMMITTED)) return void client.write(data)
      client.destroy()
      onLost()
      onLost = undefined
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenFileEnds(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })

  const address = server.address()
  const url = new URL('postgres://127.0.0.1')
  url.port = String(typeof address === 'object' && address ? address.port : 0)
  url.username = user ?? ''
  url.password = typeof password === 'string' ? password : ''
  url.pathname = database ?? ''
  return {
    url: url.href,
    loseNextCommit: async () =>
      new Promise<void>((resolve) => {
        onLost = resolve
      }),
  }
}
