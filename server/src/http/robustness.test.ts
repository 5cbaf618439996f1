import { expect, test } from 'vitest'
import { type TestRequest, type TestResponse, createTestApp } from '../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../testing/factories.ts'
import { type Ids, junkRounds } from '../testing/junk.ts'
import { rawState, stateVersionBody } from '../testing/state-versions.ts'
import { BASE_HEADERS } from './write.ts'

/**
 * Rounds run until this time has passed, in ms, so a slow machine does fewer of them and does not fail. Set
 * TEST_JUNK_MS for a longer search.
 */
const BUDGET_MS = Number(process.env['TEST_JUNK_MS'] ?? 12_000)
const AT_ONCE = 8

const app = await createTestApp()
const admin = await createUser(app, { isSiteAdmin: true })
const other = await createUser(app)
const organization = await createOrganization(app, admin)
const project = await createProject(app, { organization: organization.name, actor: admin.actor })
const workspace = await createWorkspace(app, { organization: organization.name, actor: admin.actor })
await storeState()
const ids: Ids = {
  organizations: organization.name,
  projects: project.id,
  workspaces: workspace.id,
  users: other.id,
  teams: await firstId(`/api/v2/organizations/${organization.name}/teams`),
}

test(
  'junk never causes a 5xx, and every rejection is a JSON:API error',
  async () => {
    const until = performance.now() + BUDGET_MS
    const problems: string[] = []
    const statuses = new Map<number, number>()
    for (const round of junkRounds(app.server.routes, ids)) {
      const work = async () => {
        for (let next = round.pop(); next && performance.now() < until; next = round.pop()) {
          const response = await app.request({ ...next, token: admin.token })
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
          if (response.status === 201) addId(response)
          const found = problem(next.url, response)
          if (found !== undefined) problems.push(`${shown(next)}: ${found}`)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
    }

    expect(problems).toEqual([])
    // Junk that never passes authentication would prove nothing.
    expect(statuses.get(200)).toBeGreaterThan(10)
    expect(statuses.get(422)).toBeGreaterThan(10)
    const after = await app.request({ url: '/api/v2/account/details', token: admin.token })
    expect(after.status).toBe(200)
  },
  BUDGET_MS + 15_000,
)

/** The problem with a response; undefined when there is none. */
function problem(url: string, response: TestResponse): string | undefined {
  const { status, headers, text } = response
  const missing = Object.entries(BASE_HEADERS).filter(
    ([name, value]) => name !== 'referrer-policy' && headers[name] !== value,
  )
  if (missing.length > 0 || headers['x-request-id'] === undefined) return `${status} without ${String(missing[0])}`
  if (status >= 500) return `${status} ${text}`
  if (status < 400 || response.bytes.length === 0) return undefined
  // Their responses follow RFC 6749, or are pages.
  if (url.startsWith('/oauth/') || /^\/(?:auth|github-app)\//.test(url)) return undefined
  if (headers['content-type'] !== 'application/vnd.api+json')
    return `${status} of type ${String(headers['content-type'])}`
  const { errors } = response.json() as { errors: { status: unknown; title: unknown; detail: unknown }[] }
  const isGood =
    errors.length > 0 && errors.every((error) => error.status === String(status) && error.title && error.detail)
  return isGood ? undefined : `${status} ${text}`
}

/** Ids of created resources let later rounds reach further. */
function addId(response: TestResponse) {
  const data: unknown = response.bytes.length === 0 ? undefined : response.json().data
  if (typeof data !== 'object' || data === null || !('id' in data) || !('type' in data)) return
  ids[String(data.type)] ??= String(data.id)
}

function shown({ method, url, body }: TestRequest) {
  return `${method} ${url.slice(0, 200)} ${(typeof body === 'string' ? body : (JSON.stringify(body) ?? '')).slice(0, 300)}`
}

async function firstId(url: string): Promise<string> {
  const response = await app.request({ url, token: admin.token })
  return response.status === 200 ? response.json().data[0].id : 'team-0000000000000000'
}

/** Without a state, state routes return 404 before they check parameters. */
async function storeState() {
  const request = { method: 'POST', token: admin.token } as const
  const url = `/api/v2/workspaces/${workspace.id}`
  await app.request({ ...request, url: `${url}/actions/lock` })
  const body = stateVersionBody(rawState({ outputs: { out: 'x' }, resources: ['a', 'b'] }))
  await app.request({ ...request, url: `${url}/state-versions`, body })
  await app.request({ ...request, url: `${url}/actions/unlock` })
}
