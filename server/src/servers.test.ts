import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from './testing/app.ts'
import { createReplica } from './testing/replica.ts'

const SHARED = 'https://groundstate.example'

async function newSite() {
  return createTestApp({ GROUNDSTATE_BASE_URL: SHARED })
}

test('a server with another base URL than a running one is refused, with both addresses and advice', async () => {
  const app = await newSite()

  const refused = createReplica(app, { settings: { baseUrl: 'https://other.example' } })

  await expect(refused).rejects.toThrow(
    new RegExp(
      `GROUNDSTATE_BASE_URL is https://other.example, and the running server ${app.signals.id} .* has ${SHARED}; .*stop all`,
    ),
  )
  await expect(createReplica(app, { settings: { baseUrl: undefined } })).rejects.toThrow('BASE_URL is not set')
  await expect(createReplica(app)).resolves.toBeDefined()
})

test('a server with another issuer than a running one is refused', async () => {
  const app = await newSite()

  const refused = createReplica(app, { settings: { issuerUrl: 'https://issuer.example' } })

  await expect(refused).rejects.toThrow(/GROUNDSTATE_ISSUER_URL is https:\/\/issuer.example, and .* has none/)
})

test('of two servers that start concurrently with different base URLs, one is refused', async () => {
  const app = await newSite()
  await app.signals[Symbol.asyncDispose]()

  const starts = await Promise.allSettled(
    ['https://a.example', 'https://b.example'].map(async (baseUrl) => createReplica(app, { settings: { baseUrl } })),
  )

  expect(starts.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

test('the base URL can be changed when no server is running', async () => {
  const app = await newSite()
  const { app: replica } = await createReplica(app)
  await app.signals[Symbol.asyncDispose]()
  await replica.signals[Symbol.asyncDispose]()

  const { app: changed } = await createReplica(app, { settings: { baseUrl: 'https://other.example' } })

  const { rows } = await sql`select id, base_url from servers`.execute(changed.db)
  expect(rows).toEqual([{ id: changed.signals.id, base_url: 'https://other.example' }])
})

test('a server that was away while another one started registers again', async () => {
  const app = await newSite()
  await sql`delete from servers`.execute(app.db)

  // The database closes the listening connection, as in a restart.
  const reconnected = new Promise<void>((resolve) => void app.signals.onGap(resolve))
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${`groundstate-signals ${app.signals.id}`}`.execute(
    app.db,
  )
  await reconnected

  await expect
    .poll(async () => (await sql`select id from servers`.execute(app.db)).rows)
    .toEqual([{ id: app.signals.id }])
})
