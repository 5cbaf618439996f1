import { connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { atEnd } from './cleanup.ts'
import { listen } from './ports.ts'

/** Startup parameters that PgBouncer accepts unless configured to ignore others. */
const KNOWN_PARAMETERS = new Set([
  'user',
  'database',
  'client_encoding',
  'datestyle',
  'timezone',
  'standard_conforming_strings',
  'application_name',
])

/**
 * Starts a pooler in transaction mode, like a strict PgBouncer: it rejects unknown startup parameters, assigns one of `size` connections to a client
 * per transaction, and then discards the session state, such as named statements, LISTEN and session locks. Returns the URL of the database
 * through it.
 */
export async function createTransactionPooler(databaseUrl: string, { size }: { size: number }): Promise<string> {
  const { host, port, user = '', password, database = '' } = new pg.Client(databaseUrl)
  const open = () => (host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host))
  const sessions = new Set<Session>()
  const clients = new Set<Socket>()
  const idle: Session[] = []
  const waiting: ((session: Session) => void)[] = []

  async function acquire(): Promise<Session> {
    const free = idle.pop()
    if (free) return free
    if (sessions.size < size) {
      const session = new Session(open())
      sessions.add(session)
      await session.start({ user, database, password: typeof password === 'string' ? password : '' })
      return session
    }
    return new Promise((resolve) => waiting.push(resolve))
  }

  function release(session: Session) {
    const next = waiting.shift()
    if (next) next(session)
    else idle.push(session)
  }

  const server = createServer((socket) => {
    clients.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => clients.delete(socket))
    void serveClient(socket, acquire, release).catch(() => socket.destroy())
  })
  atEnd(() => {
    server.close()
    for (const socket of clients) socket.destroy()
    for (const session of sessions) session.end()
  })
  const url = new URL('postgres://127.0.0.1')
  url.port = String(await listen(server))
  url.username = user
  url.password = typeof password === 'string' ? password : ''
  url.pathname = database
  return url.href
}

async function serveClient(socket: Socket, acquire: () => Promise<Session>, release: (session: Session) => void) {
  const messages = new Messages(socket, { hasStart: true })
  const start = await messages.next()
  if (!start) return
  const refused = parametersOf(start).find((name) => !KNOWN_PARAMETERS.has(name.toLowerCase()))
  if (refused !== undefined) {
    socket.end(errorMessage(`unsupported startup parameter: ${refused}`))
    return
  }
  socket.write(Buffer.concat([message('R', Buffer.alloc(4)), READY]))
  for (let first = await messages.next(); first; first = await messages.next()) {
    if (first[0] === TERMINATE) break
    const session = await acquire()
    await session.serve(first, messages, socket)
    await session.forget()
    release(session)
  }
  socket.end()
}

const TERMINATE = 'X'.charCodeAt(0)
const READY_FOR_QUERY = 'Z'.charCodeAt(0)
const IDLE = 'I'.charCodeAt(0)
/** Messages to which a server responds with ReadyForQuery. */
const ENDING = new Set(['Q'.charCodeAt(0), 'S'.charCodeAt(0)])

/** A connection to the database. */
class Session {
  #socket: Socket
  #answers: Messages

  constructor(socket: Socket) {
    this.#socket = socket.on('error', () => socket.destroy())
    this.#answers = new Messages(socket)
  }

  async start({ user, database, password }: { user: string; database: string; password: string }) {
    if (password !== '') throw new Error('the pooler of tests signs in without a password only')
    const body = Buffer.from(`\0\x03\0\0user\0${user}\0database\0${database}\0\0`, 'latin1')
    this.#socket.write(Buffer.concat([length(body), body]))
    await this.#untilReady(() => {})
  }

  /** Serves a client from its first message until no transaction is open. */
  async serve(first: Buffer, messages: Messages, client: Socket) {
    for (let request: Buffer | undefined = first; request; request = await messages.next()) {
      this.#socket.write(request)
      if (!ENDING.has(request[0] ?? 0)) continue
      const status = await this.#untilReady((response) => client.write(response))
      if (status === IDLE) return
    }
    // The client disconnected during a transaction.
    this.#socket.write(message('Q', Buffer.from('rollback\0')))
    await this.#untilReady(() => {})
  }

  async forget() {
    this.#socket.write(message('Q', Buffer.from('discard all\0')))
    await this.#untilReady(() => {})
  }

  async #untilReady(pass: (response: Buffer) => void) {
    for (;;) {
      const response = await this.#answers.next()
      if (!response) throw new Error('the database has closed the connection')
      pass(response)
      if (response[0] === READY_FOR_QUERY) return response[5]
    }
  }

  end() {
    this.#socket.destroy()
  }
}

/** The messages received on a socket, each with its type and length. The first message of a client has no type. */
class Messages {
  #reader: AsyncIterator<Buffer>
  #rest = Buffer.alloc(0)
  #hasStart: boolean

  constructor(socket: Socket, { hasStart = false } = {}) {
    this.#reader = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    this.#hasStart = hasStart
  }

  async next(): Promise<Buffer | undefined> {
    const lengthAt = this.#hasStart ? 0 : 1
    for (;;) {
      const size = this.#rest.length < lengthAt + 4 ? Infinity : lengthAt + this.#rest.readUInt32BE(lengthAt)
      if (this.#rest.length >= size) {
        const message = this.#rest.subarray(0, size)
        this.#rest = this.#rest.subarray(size)
        this.#hasStart = false
        return message
      }
      const more = await this.#reader.next().catch(() => ({ done: true as const, value: undefined }))
      if (more.done) return undefined
      this.#rest = Buffer.concat([this.#rest, more.value])
    }
  }
}

function parametersOf(start: Buffer) {
  const words = start.subarray(8).toString('latin1').split('\0')
  return words.filter((word, index) => index % 2 === 0 && word !== '')
}

function length(body: Buffer) {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(body.length + 4)
  return bytes
}

function message(type: string, body: Buffer) {
  return Buffer.concat([Buffer.from(type), length(body), body])
}

function errorMessage(text: string) {
  return message('E', Buffer.from(`SFATAL\0C08P01\0M${text}\0\0`))
}

const READY = message('Z', Buffer.from('I'))
