import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { InjectOptions } from 'fastify'
import { pino } from 'pino'
import { inject } from 'vitest'
import { type App, type Ctx, createApp } from '../app.ts'
import { type Actor, SYSTEM } from '../auth/actor.ts'
import { readConfig } from '../config.ts'
import { JOBS, LOADERS, REACTIONS, ROUTES } from '../features/list.ts'
import { type SentResponse, type Server, createServer } from '../http/server.ts'
import type { Log } from '../log.ts'
import { afterEachTest, atEnd } from './cleanup.ts'
import { createTestDatabase } from './database.ts'
import { responseMismatch } from './response-mismatch.ts'

/** A test's clock: real time, moved ahead by `advance`. */
export type TestClock = { now: () => Date; advance: (ms: number) => void }

export type TestApp = App & {
  server: Server
  clock: TestClock
  /** A context for service functions, by default with the system as the actor. */
  as: (actor?: Actor) => Ctx
  /**
   * Sends a request, with a bearer token and an object body as JSON:API. Throws if the response does not match the
   * description of its route. For requests on sockets, the test fails afterwards.
   */
  request: (options: TestRequest) => Promise<TestResponse>
  /** Runs background jobs until none is due on the test's clock. */
  runJobs: () => Promise<number>
  /** Listens on a free loopback port, for tests that need a socket; returns the base URL. */
  listen: () => Promise<string>
}
export type TestRequest = {
  method?: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'PUT' | 'DELETE' | 'OPTIONS'
  url: string
  token?: string | undefined
  body?: unknown
  headers?: Record<string, string>
}
export type TestResponse = {
  status: number
  headers: Record<string, string | string[] | number | undefined>
  text: string
  bytes: Buffer
  /** The parsed body; throws unless it is JSON. */
  json: () => any // tests read documents of all shapes
}

/** Parts that a test may replace, besides settings. */
export type TestOptions = {
  log?: Log
  webDist?: string
  opened?: Promise<void>
  /** Starts a proxy for the database and returns its URL. */
  reach?: (databaseUrl: string) => Promise<string>
  /** As `reach`, with a pooler in transaction mode, which connections that need a session bypass. */
  pool?: (databaseUrl: string) => Promise<string>
}

/**
 * Creates the app on a new database, which is dropped when the test ends, or the test file. Settings are `GROUNDSTATE_…`
 * values.
 */
export async function createTestApp(
  settings: Record<string, string> = {},
  options: TestOptions = {},
): Promise<TestApp> {
  const database = await createTestDatabase()
  atEnd(() => database[Symbol.asyncDispose]())
  const dataDir = await mkdtemp(join(inject('directory'), 'app-'))
  atEnd(() => rm(dataDir, { recursive: true, force: true }))
  const config = readConfig({ GROUNDSTATE_DATA_DIR: dataDir, GROUNDSTATE_SECRET: '11'.repeat(32), ...settings })
  let offset = 0
  const clock: TestClock = {
    now: () => new Date(Date.now() + offset),
    advance: (ms) => {
      offset += ms
    },
  }
  const log = options.log ?? pino({ level: process.env['TEST_LOG'] ?? 'silent' })
  const app = await createApp(
    config,
    {
      databaseUrl: (await (options.pool ?? options.reach)?.(database.url)) ?? database.url,
      directUrl: options.pool && database.url,
      baseUrl: config.baseUrl ?? 'http://groundstate.test',
      log,
      runsJobs: false,
      reactions: REACTIONS,
    },
    { now: clock.now },
  )
  atEnd(() => app[Symbol.asyncDispose]())
  await app.jobs.declare(JOBS)
  const mismatches: string[] = []
  const onResponse = (response: SentResponse) => {
    const mismatch = responseMismatch(response)
    if (mismatch !== undefined) mismatches.push(mismatch)
  }
  const server = await createServer(app, { routes: ROUTES, loaders: LOADERS }, { ...options, onResponse })
  afterEachTest(checkResponses)
  atEnd(() => server.fastify.close())
  await server.fastify.ready()

  function checkResponses() {
    if (mismatches.length > 0) throw new Error(mismatches.splice(0).join('\n'))
  }

  async function request({ method = 'GET', url, token, body, headers }: TestRequest): Promise<TestResponse> {
    const raw = typeof body === 'string' || Buffer.isBuffer(body) || body instanceof Readable
    const options: InjectOptions = {
      method,
      url,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': raw ? 'application/octet-stream' : 'application/vnd.api+json' }),
        ...headers,
      },
      ...(body !== undefined && { payload: raw ? body : JSON.stringify(body) }),
    }
    const response = await server.fastify.inject(options)
    checkResponses()
    return {
      status: response.statusCode,
      headers: response.headers,
      text: response.payload,
      bytes: response.rawPayload,
      json: () => JSON.parse(response.payload),
    }
  }

  return Object.assign(app, {
    server,
    clock,
    as: (actor: Actor = SYSTEM) => ({ ...app, actor }),
    request,
    runJobs: () => app.jobs.runDue({ ...app, actor: SYSTEM }, JOBS),
    listen: async () => {
      const origin = await server.fastify.listen({ host: '127.0.0.1', port: 0 })
      app.baseUrl = origin
      app.loopbackServer.open({ baseUrl: origin, origin, certificate: undefined })
      return origin
    },
  })
}
