import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Route } from '../http/http.ts'
import { createTestApp } from '../testing/app.ts'
import { rawState, stateVersionBody } from '../testing/state-versions.ts'
import { type ActorName, createActors } from './testing/actors.ts'
import { fill } from './testing/fixtures.ts'
import { REQUESTS } from './testing/route-requests.ts'

/** Every GET route, with all includes, for every kind of caller: the transaction of the request writes nothing. */

/**
 * GET routes that write, with the reason. Apart from them, authentication records the use of a token or session at most once a minute,
 * and the return from an identity provider (`GET /auth/oidc/callback`) opens a session.
 */
const WRITERS: Record<string, string> = {
  'GET /organizations/:organization/vcs/repo': 'the connection says since when its host cannot be reached',
  'GET /organizations/:organization/vcs/tree': 'the connection says since when its host cannot be reached',
  'GET /state-version-outputs/:id': 'the audit trail records who has read a sensitive value',
  'GET /state-versions/:id/diff': 'a comparison of two states is computed once and cached',
  'GET /workspaces/:id/readme': 'the README of a configuration is extracted once and cached',
}
const CALLERS: readonly ActorName[] = [
  'none',
  'read',
  'owner',
  'site',
  'team',
  'org',
  'agent',
  'run',
  'job',
  'task',
  'audit',
]

const app = await createTestApp()
const actors = await createActors(app, 'reading')
const ids = { ...actors.ids, 'state-version-outputs': await createSensitiveOutput() }
const routes = app.server.routes
  .filter(({ method }) => method === 'GET')
  .map((route) => ({ route, key: `GET ${route.url.replace(/^\/api\/v2/, '')}` }))

beforeEach(async () => {
  await app.db.updateTable('tokens').set({ last_used_at: app.now() }).execute()
})

describe('reads write nothing:', () => {
  test.each(routes.filter(({ key }) => !(key in WRITERS)))('$key', async ({ route, key }) => {
    expect(await writersAmong(CALLERS, urlOf(route, key))).toEqual([])
  })

  test('linked URLs', async () => {
    const links = new Set<string>()
    for (const { route, key } of routes) {
      const { text } = await read(urlOf(route, key), 'owner')
      for (const [url] of text.matchAll(/http[^"\s]+\/_objects\/[^"\s]+/g)) links.add(new URL(url).pathname)
    }
    const writers: string[] = []
    for (const path of links) writers.push(...(await writersAmong(['none'], path)))

    expect(links.size).toBeGreaterThan(5)
    expect(writers).toEqual([])
  })
})

test('the exceptions do write', async () => {
  const writers: string[] = []
  for (const { route, key } of routes) {
    if (key in WRITERS && (await writersAmong(['owner'], urlOf(route, key))).length > 0) writers.push(key)
  }
  expect(writers.toSorted()).toEqual(Object.keys(WRITERS).toSorted())
})

function urlOf(route: Route, key: string) {
  const include = route.options.include && `include=${Object.keys(route.options.include).join(',')}`
  const query = [REQUESTS[key]?.(ids).query, include].filter((part) => part !== undefined)
  return `${fill(route.url, ids)}${query.length === 0 ? '' : `?${query.join('&')}`}`
}

/** The callers whose request wrote; PostgreSQL assigns an id to a transaction at its first write. */
async function writersAmong(callers: readonly ActorName[], url: string) {
  const writers: string[] = []
  for (const caller of callers) {
    const { status, transactionId } = await read(url, caller)
    if (transactionId !== null) writers.push(`${caller}: GET ${url} answered ${status}`)
  }
  return writers
}

async function read(url: string, caller: ActorName) {
  const { db } = app
  const transaction = await db.startTransaction().execute()
  app.db = transaction
  try {
    const { status, text } = await app.request({ url, token: actors.tokens[caller] })
    const { rows } = await sql<{ id: string | null }>`select pg_current_xact_id_if_assigned()::text as id`.execute(
      transaction,
    )
    return { status, text, transactionId: rows[0]?.id }
  } finally {
    app.db = db
    await transaction.rollback().execute()
  }
}

async function createSensitiveOutput(): Promise<string> {
  const token = actors.tokens.owner
  const send = async (method: 'GET' | 'POST', url: string, body?: unknown) =>
    (await app.request({ method, url: `/api/v2${url}`, token, body })).json().data
  const { id } = await send('POST', `/organizations/${actors.organization.name}/workspaces`, {
    data: { type: 'workspaces', attributes: { name: 'secrets' } },
  })
  await send('POST', `/workspaces/${id}/actions/lock`)
  const outputs = { password: { value: 'swordfish', type: 'string', sensitive: true } }
  const version = await send('POST', `/workspaces/${id}/state-versions`, stateVersionBody(rawState({ outputs })))
  await app.runJobs()
  return (await send('GET', `/state-versions/${version.id}/outputs`))[0].id
}
