import { connect } from 'node:net'
import pg from 'pg'
import { createTcpProxy } from './tcp-proxy.ts'

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
  let onLost: (() => void) | undefined

  const proxyPort = await createTcpProxy(open, (client, target) => {
    client.pipe(target)
    target.on('data', (data: Buffer) => {
      if (!onLost || !data.includes(COMMITTED)) return void client.write(data)
      client.destroy()
      onLost()
      onLost = undefined
    })
  })

  const url = new URL('postgres://127.0.0.1')
  url.port = String(proxyPort)
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
