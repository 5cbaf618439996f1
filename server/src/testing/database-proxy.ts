import { connect, type Socket } from 'node:net'
import pg from 'pg'
import { createTcpProxy } from './tcp-proxy.ts'

/** A TCP proxy between the app and its database. */
export type DatabaseProxy = {
  /** The URL of the same database, through the proxy. */
  url: string
  /** Forwards the next COMMIT, drops its response and closes the connection, like a network failure. Resolves then, after the commit. */
  loseNextCommit: () => Promise<void>
  /** As `loseNextCommit`, for the next statement with the text, outside a transaction, if it was not prepared before. */
  loseNextResponseTo: (text: string) => Promise<void>
}

/** The response of PostgreSQL to a COMMIT: a CommandComplete message with this tag. */
const COMMITTED = Buffer.from('COMMIT\0')
/** PostgreSQL's ReadyForQuery message outside a transaction. */
const IDLE = Buffer.from('Z\0\0\0\u0005I')

type Loss = { text: string | undefined; response: Buffer; onLost: () => void }

/** Starts a TCP proxy in front of a database until the test ends, or the test file; returns the URL of the database through it. */
export async function passedBy(databaseUrl: string, pass: (client: Socket, target: Socket) => void) {
  const { host, port, user, password, database } = new pg.Client(databaseUrl)
  const open = () => (host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host))
  const url = new URL('postgres://127.0.0.1')
  url.port = String(await createTcpProxy(open, pass))
  url.username = user ?? ''
  url.password = typeof password === 'string' ? password : ''
  url.pathname = database ?? ''
  return url.href
}

export async function createDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  let loss: Loss | undefined
  const url = await passedBy(databaseUrl, (client, target) => {
    /** Responses of this connection to drop. */
    let pending: Loss | undefined
    client.on('data', (data: Buffer) => {
      if (loss?.text !== undefined && data.includes(loss.text)) pending = loss
      target.write(data)
    })
    client.on('end', () => target.end())
    target.on('data', (data: Buffer) => {
      const lost = loss?.text === undefined ? loss : pending
      if (lost === undefined || !data.includes(lost.response)) return void client.write(data)
      client.destroy()
      loss = undefined
      lost.onLost()
    })
  })

  const lose = async (text: string | undefined, response: Buffer) =>
    new Promise<void>((onLost) => {
      loss = { text, response, onLost }
    })
  return {
    url,
    loseNextCommit: async () => lose(undefined, COMMITTED),
    loseNextResponseTo: async (text) => lose(text, IDLE),
  }
}
