import { describe, expect, test } from 'vitest'
import type { Route } from '../http/http.ts'
import { openApi } from '../http/openapi.ts'
import { createTestApp, type TestRequest } from '../testing/app.ts'
import { sampleBody } from '../testing/junk.ts'
import { type ActorName, ACTORS, createActors } from './testing/actors.ts'
import {
  accessKey,
  EXCEPTIONAL_ROUTES,
  type Expected,
  expectedResponses,
  KNOWN_ACCESSES,
  permissionNames,
} from './testing/route-access.ts'
import { REQUESTS } from './testing/route-requests.ts'

/** Every route × every actor, against the access that the route declares and the table in `testing/route-access.ts`. */

const app = await createTestApp()
const actors = await createActors(app, 'matrix')
const api = openApi(app.server.routes, app.baseUrl)
const routes = app.server.routes.map((route) => ({ route, key: keyOf(route) }))

test('every line of the table is the access of a route, and every exception is a route', () => {
  const accesses = new Set(routes.map(({ route }) => accessKey(route.options.access)))
  const keys = new Set(routes.map(({ key }) => key))

  expect(KNOWN_ACCESSES.filter((access) => !accesses.has(access))).toEqual([])
  expect(EXCEPTIONAL_ROUTES.filter((key) => !keys.has(key))).toEqual([])
})

describe('the declared access is enforced:', () => {
  test.each(routes)('$key', async ({ route, key }) => {
    const request = requestOf(route, key)
    const expected = expectedResponses(route, key)
    const problems: string[] = []
    let anonymousStatus = 0
    for (const actor of ACTORS) {
      const { status, text } = await inVain({ ...request, token: actors.tokens[actor] })
      if (actor === 'none') anonymousStatus = status
      if (!fits(expected[actor], status, anonymousStatus))
        problems.push(`${actor}: ${status}, expected ${expected[actor]}`)
      if (expected[actor] === 403) {
        for (const name of undeclared(route, text)) problems.push(`${actor} needs ${name}, which is not declared`)
      }
    }
    const { status: refused } = await inVain({ ...request, token: actors.tokens.owner }, refuseUserTokens)
    if (!fitsRefused(expected, refused, key)) problems.push(`an owner whose token is rejected: ${refused}`)

    expect(problems).toEqual([])
  })
})

function keyOf({ method, url }: Route) {
  return `${method} ${url.replace(/^\/api\/v2/, '')}`
}

function requestOf(route: Route, key: string): TestRequest {
  const { method } = route
  const sent = REQUESTS[key]?.(actors.ids) ?? {
    body: sampleBody(api, route, { ids: actors.ids, flavour: 'plain' }),
  }
  const url = actors.path(route.url)
  return { method, url: sent.query === undefined ? url : `${url}?${sent.query}`, body: sent.body }
}

/** The response. The transaction is rolled back, so that the next request finds everything unchanged. */
async function inVain(request: TestRequest, prepare?: () => Promise<unknown>) {
  const { db } = app
  const transaction = await db.startTransaction().execute()
  app.db = transaction
  try {
    await prepare?.()
    return await app.request(request)
  } finally {
    app.db = db
    await transaction.rollback().execute()
  }
}

async function refuseUserTokens() {
  await app.db.updateTable('organizations').set({ user_tokens_enabled: false }).execute()
}

const MISSING = /needs the permissions? ([\w:, -]+) (?:in|on|for) the (?:default )?(\w+)/

/** The permissions that an error names, as `workspace lock`, and that the route does not declare. */
function undeclared({ options: { access } }: Route, refusal: string) {
  const [, names = '', scope] = MISSING.exec(refusal) ?? []
  const declared = permissionNames(access)
  // An error about a variable set does not say whether the organization or a project decides.
  const isDeclared = (name: string) =>
    scope === 'variable' ? declared.some((known) => known.endsWith(` ${name}`)) : declared.includes(`${scope} ${name}`)
  return names.split(', ').filter((name) => name !== '' && !isDeclared(name))
}

/** A permitted actor may still get another error because of the resource's state. */
function fits(expected: Expected, status: number, anonymousStatus: number) {
  if (status >= 500) return false
  if (expected === 'as all') return status === anonymousStatus
  return expected === 'passes' ? ![401, 403, 404].includes(status) : status === expected
}

/** To its members, an organization without user tokens looks as to a stranger, except for its name. */
function fitsRefused(expected: Record<ActorName, Expected>, status: number, key: string) {
  const isAccount = /^\w+ \/(account|users\/:userId)\//.test(key)
  const required = expected[isAccount ? 'owner' : 'stranger']
  const namesOrganization = / \/(?:organizations\/:|registry-modules\b|api\/registry\/)/.test(key)
  return fits(required, status, status) || (required === 404 && status === 401 && namesOrganization)
}
