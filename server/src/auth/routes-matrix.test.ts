import { describe, expect, test } from 'vitest'
import type { Route } from '../http/http.ts'
import { openApi } from '../http/openapi.ts'
import { createTestApp, type TestRequest } from '../testing/app.ts'
import { sampleBody } from '../testing/junk.ts'
import { type ActorName, ACTORS, createEveryone } from './testing/everyone.ts'
import { ROUTE_ACCESS } from './testing/route-access.ts'
import { REQUESTS } from './testing/route-requests.ts'

/** Every route × every actor, against the table in `testing/route-access.ts`. */

const app = await createTestApp()
const everyone = await createEveryone(app, 'matrix')
const api = openApi(app.server.routes, app.baseUrl)
const routes = app.server.routes.map((route) => ({ route, key: keyOf(route) }))

test('every route is in the table, and the table has no other', () => {
  expect(Object.keys(ROUTE_ACCESS).toSorted()).toEqual(routes.map(({ key }) => key).toSorted())
})

describe('the table is what', () => {
  test.each(routes)('$key answers', async ({ route, key }) => {
    const request = requestOf(route, key)
    const wanted = expected(ROUTE_ACCESS[key] ?? 'nobody')
    const problems: string[] = []
    let toNobody = 0
    for (const actor of ACTORS) {
      const status = await inVain({ ...request, token: everyone.tokens[actor] })
      if (actor === 'none') toNobody = status
      if (!fits(wanted[actor], status, toNobody)) problems.push(`${actor}: ${status}, expected ${wanted[actor]}`)
    }
    const refused = await inVain({ ...request, token: everyone.tokens.owner }, refuseUserTokens)
    if (!fitsRefused(wanted, refused, key)) problems.push(`an owner whose token is not taken: ${refused}`)

    expect(problems).toEqual([])
  })
})

function keyOf({ method, url }: Route) {
  return `${method} ${url.replace(/^\/api\/v2/, '')}`
}

function requestOf(route: Route, key: string): TestRequest {
  const { method } = route
  const sent = REQUESTS[key]?.(everyone.ids) ?? {
    body: sampleBody(api, route, { ids: everyone.ids, flavour: 'plain' }),
  }
  const url = everyone.path(route.url)
  return { method, url: sent.query === undefined ? url : `${url}?${sent.query}`, body: sent.body }
}

/** The status of the answer. The transaction is rolled back, so that the next request finds everything unchanged. */
async function inVain(request: TestRequest, prepare?: () => Promise<unknown>): Promise<number> {
  const { db } = app
  const transaction = await db.startTransaction().execute()
  app.db = transaction
  try {
    await prepare?.()
    return (await app.request(request)).status
  } finally {
    app.db = db
    await transaction.rollback().execute()
  }
}

async function refuseUserTokens() {
  await app.db.updateTable('organizations').set({ user_tokens_enabled: false }).execute()
}

type Expected = number | 'passes' | 'as all'

const LEVELS: readonly ActorName[] = ['member', 'read', 'plan', 'write', 'admin', 'owner']

/**
 * The actors that a word of the table stands for. A team's token, here that of one that may write, is as good as a
 * member.
 */
function actorsOf(word: string): readonly ActorName[] {
  if (word === 'people') return ['stranger', 'site', ...LEVELS]
  if (word === 'any') return ACTORS.filter((name) => !['none', 'bad', 'task', 'job'].includes(name))
  const actor = ACTORS.find((name) => name === word.replace('+', ''))
  if (!actor) throw new Error(`the table has ${word}, which is no actor`)
  if (actor === word) return [actor]
  const from = LEVELS.indexOf(actor)
  return [...LEVELS.slice(from), ...(from <= LEVELS.indexOf('write') ? (['team'] as const) : [])]
}

function expected(line: string): Record<ActorName, Expected> {
  const [passing = '', seeing = ''] = line.replace(/^(only|nobody|public)\b/, '').split('|')
  const passes = new Set(words(passing).flatMap(actorsOf))
  const sees = new Set(words(seeing).flatMap(actorsOf))
  const refusal = line.startsWith('only') ? 401 : 404
  return record((actor) => {
    if (line === 'public') return 'as all'
    if (passes.has(actor)) return 'passes'
    if (actor === 'none' || actor === 'bad' || actor === 'task' || actor === 'job') return 401
    return sees.has(actor) ? 403 : refusal
  })
}

function words(text: string) {
  return text.split(' ').filter((word) => word !== '')
}

function record<T>(of: (actor: ActorName) => T): Record<ActorName, T> {
  return Object.fromEntries(ACTORS.map((actor) => [actor, of(actor)])) as Record<ActorName, T>
}

/** An actor that passes may still get a refusal because of the state of the thing. */
function fits(wanted: Expected, status: number, toNobody: number) {
  if (status >= 500) return false
  if (wanted === 'as all') return status === toNobody
  return wanted === 'passes' ? ![401, 403, 404].includes(status) : status === wanted
}

/** An organization that takes no tokens of its members is to them as to a stranger, but for its name. */
function fitsRefused(wanted: Record<ActorName, Expected>, status: number, key: string) {
  const isAccount = /^\w+ \/(account|users\/:userId)\//.test(key)
  const wish = wanted[isAccount ? 'owner' : 'stranger']
  return fits(wish, status, status) || (wish === 404 && status === 401 && / \/organizations\/:/.test(key))
}
