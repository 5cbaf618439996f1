import { beforeAll, describe, expect, test } from 'vitest'
import type { Route } from '../http/http.ts'
import { openApi } from '../http/openapi.ts'
import { createTestApp, type TestRequest } from '../testing/app.ts'
import { sampleBody } from '../testing/junk.ts'
import { type ActorName, createActors, type Actors } from './testing/actors.ts'
import { fill } from './testing/fixtures.ts'
import { isAboutResources } from './testing/route-access.ts'
import { REQUESTS } from './testing/route-requests.ts'

/** Two organizations whose resources have the same names: no response reveals the other one. */

const app = await createTestApp()
const api = openApi(app.server.routes, app.baseUrl)
const routes = app.server.routes
  .map((route) => ({ route, key: `${route.method} ${route.url.replace(/^\/api\/v2/, '')}` }))
  .filter(({ route, key }) => isAboutResources(route, key))
const reads = routes.filter(({ route }) => route.method === 'GET')
const about = routes.filter(({ route, key }) => route.url.includes(':') && !key.includes('account/'))
const changes = routes.filter(({ route }) => route.options.body !== undefined)

const IDS = /[\dA-Za-z]{14,}(?:\.gsv1\.\w+)?/g
const READERS: readonly ActorName[] = ['owner', 'read', 'org', 'run', 'stranger']

const north = await createActors(app, 'north')
const before = new Map<string, string>()
let south: Actors
/** Ids that do not exist, in the same form as those of the south. */
let nothing: Record<string, string>

beforeAll(async () => {
  // The agents stay online, however long the tests take.
  const inAnHour = new Date(app.clock.now().getTime() + 3_600_000)
  await app.db.updateTable('agents').set({ last_ping_at: inAnHour }).execute()
  for (const reader of READERS) {
    for (const { route, key } of reads) before.set(`${reader} ${key}`, await read(route, key, reader))
  }
  south = await createActors(app, 'south')
  nothing = Object.fromEntries(Object.entries(south.ids).map(([noun, id]) => [noun, noId(id)]))
}, 60_000)

describe.each(READERS)('to %s', (reader) => {
  test.each(reads)('$key is isolated from other organizations', async ({ route, key }) => {
    const response = await read(route, key, reader)

    expect(response).toBe(before.get(`${reader} ${key}`))
    expect(response).not.toContain('south')
  })
})

describe('resources of the other organization do not exist', () => {
  test.each(about)('$key', async ({ route, key }) => {
    const request = async (ids: Record<string, string>) => {
      const { body, query } = sent(route, key, north.ids)
      return send({ method: route.method, url: withQuery(fill(route.url, ids), query), body })
    }

    expect(await request(south.ids)).toBe(await request(nothing))
  })

  test.each(changes)('$key in its body', async ({ route, key }) => {
    const request = async (ids: Record<string, string>) => {
      const { body } = sent(route, key, ids)
      const response = await send({ method: route.method, url: north.path(route.url), body })
      // Errors may repeat input, and created resources have new ids.
      return response.replaceAll(IDS, 'ID')
    }

    const response = await request(south.ids)

    expect(response).toBe(await request(nothing))
    expect(response).not.toContain('south')
  })
})

function sent(route: Route, key: string, ids: Record<string, string>) {
  const given: { body?: unknown; query?: string } = REQUESTS[key]?.({ workspaces: '', ...ids }) ?? {
    body: sampleBody(api, route, { ids, flavour: 'plain' }),
  }
  return given
}

/** Everything that the north's reader can read there, with all includes. */
async function read(route: Route, key: string, reader: ActorName) {
  const { query } = sent(route, key, north.ids)
  const include = route.options.include && `include=${Object.keys(route.options.include).join(',')}`
  const url = withQuery(north.path(route.url), query, include)
  return send({ method: 'GET', url, token: north.tokens[reader] })
}

function withQuery(url: string, ...queries: (string | undefined)[]) {
  const given = queries.filter((query) => query !== undefined)
  return given.length === 0 ? url : `${url}?${given.join('&')}`
}

/** Status and body without times and signatures; the transaction is rolled back. */
async function send({ token = north.tokens.owner, ...request }: TestRequest) {
  const { db } = app
  const transaction = await db.startTransaction().execute()
  app.db = transaction
  try {
    const { status, text } = await app.request({ ...request, token })
    return `${status} ${text
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replaceAll(/\d+:\d\d left/g, 'left')
      // Nothing reaches the fixture's hosts, and connections show the last attempt.
      .replaceAll(/"the host could not be reached since [^"]+"/g, 'null')
      // The fixture's agent stops sending heartbeats.
      .replaceAll(/"waiting for a heartbeat [^"]+"/g, 'null')
      .replaceAll(/\/_objects\/[^"]+/g, 'OBJECT')}`
  } finally {
    app.db = db
    await transaction.rollback().execute()
  }
}

function noId(id: string) {
  return id.replaceAll(/(?<=-|^)[^-]{12,}/g, (text) => 'z'.repeat(text.length)).replace('south', 'x0uth')
}
