import { createHash } from 'node:crypto'
import type { TestApp, TestRequest } from '../../../../testing/app.ts'
import {
  createOrganization,
  createProject,
  createUser,
  createWorkspace,
  type TestUser,
} from '../../../../testing/factories.ts'
import { createFakeAgent, type FakeAgent } from '../../../../testing/fake-agent.ts'
import { type TestReceiver, startReceiver } from '../../../../testing/receiver.ts'
import { uploadConfiguration } from '../../../../testing/runs.ts'
import { rawState, stateVersionBody } from '../../../../testing/state-versions.ts'

/** Used as every secret, so that leaks can be detected. */
export const SECRET = 'never-to-be-kept-4711'

/** The expected actor of an event: a user, by token or session, or the holder of a signed URL. */
export type Author = { id: string | null; tokenId: string | null | undefined }

/**
 * A request that makes one change; `ids` replace the route's parameters; the default of `by` is the administrator.
 */
export type ChangeRequest = Pick<TestRequest, 'body' | 'headers'> & {
  ids?: readonly string[]
  url?: string
  token?: string | undefined
  by?: Author
  /** A failure consumes part of the request, such as a two-factor code. */
  usesUp?: boolean
}

/** Creates the prerequisites of a route's change, and returns its request. */
export type MakeChange = (fixtures: AuditFixtures) => Promise<ChangeRequest> | ChangeRequest

export const data = (type: string, attributes: object = {}, relationships: object = {}) => ({
  data: { type, attributes, relationships },
})
export const one = (type: string, id: string) => ({ data: { type, id } })
export const many = (type: string, ...ids: string[]) => ({ data: ids.map((id) => ({ type, id })) })

/** An organization of an administrator, with factories for its contents. */
export class AuditFixtures {
  app: TestApp
  admin: TestUser
  organization: { id: string; name: string }
  agent: FakeAgent
  receiver: TestReceiver
  count = 0

  constructor(app: TestApp, parts: Pick<AuditFixtures, 'admin' | 'organization' | 'agent' | 'receiver'>) {
    this.app = app
    this.admin = parts.admin
    this.organization = parts.organization
    this.agent = parts.agent
    this.receiver = parts.receiver
  }

  static async create(app: TestApp) {
    const admin = await createUser(app, { isSiteAdmin: true })
    const organization = await createOrganization(app, admin)
    return new AuditFixtures(app, {
      admin,
      organization,
      agent: await createFakeAgent(app),
      receiver: await startReceiver(),
    })
  }

  name(noun: string) {
    this.count += 1
    return `${noun}-of-change-${this.count}`
  }

  /** Sends a request that must succeed, as the administrator; returns the document's `data`. */
  async send(method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown, token = this.admin.token) {
    const response = await this.app.request({
      method,
      url: `/api/v2${path}`,
      token,
      ...(body !== undefined && { body }),
    })
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.text}`)
    return response.text === '' ? undefined : response.json().data
  }

  async ofOrganization(path: string, body: unknown) {
    return (await this.send('POST', `/organizations/${this.organization.name}/${path}`, body)).id as string
  }

  person() {
    return createUser(this.app, { password: SECRET })
  }

  async workspace() {
    return (await createWorkspace(this.app, { organization: this.organization.name, actor: this.admin.actor })).id
  }

  async lockedWorkspace() {
    const id = await this.workspace()
    await this.send('POST', `/workspaces/${id}/actions/lock`, {})
    return id
  }

  async project() {
    return (await createProject(this.app, { organization: this.organization.name, actor: this.admin.actor })).id
  }

  team() {
    return this.ofOrganization('teams', data('teams', { name: this.name('team') }))
  }

  pool() {
    return this.ofOrganization('agent-pools', data('agent-pools', { name: this.name('pool') }))
  }

  variableSet() {
    return this.ofOrganization('varsets', data('varsets', { name: this.name('set') }))
  }

  async variable(owner: string) {
    const body = data('vars', { key: this.name('key'), value: SECRET, category: 'env', sensitive: true })
    return (await this.send('POST', `${owner}/vars`, body)).id as string
  }

  task() {
    const attributes = { name: this.name('task'), url: `${this.receiver.url}?token=${SECRET}`, 'hmac-key': SECRET }
    return this.ofOrganization('tasks', data('tasks', { ...attributes, category: 'task' }))
  }

  async workspaceTask(workspace: string, stage = 'post_plan') {
    const attributes = { 'enforcement-level': 'mandatory', stages: [stage] }
    const body = data('workspace-tasks', attributes, { task: one('tasks', await this.task()) })
    return (await this.send('POST', `/workspaces/${workspace}/tasks`, body)).id as string
  }

  /** A workspace with a configuration. */
  async configured() {
    const workspaceId = await this.workspace()
    const version = await uploadConfiguration(this.app, { user: this.admin, workspaceId })
    return { workspaceId, version }
  }

  async run(workspaceId: string) {
    const body = data('runs', {}, { workspace: one('workspaces', workspaceId) })
    return (await this.send('POST', '/runs', body)).id as string
  }

  /** The agent's job for a run; jobs left by other changes are completed first. */
  async jobOf(run: string) {
    for (;;) {
      const job = await this.agent.take()
      if (job.runId === run) return job
      await job.finish()
    }
  }

  /** A run that waits for confirmation. */
  async plannedRun() {
    const run = await this.run((await this.configured()).workspaceId)
    const job = await this.jobOf(run)
    await job.put('plan-json', JSON.stringify({ format_version: '1.2' }))
    await job.finish()
    return run
  }

  /** A locked workspace with state versions up to the serial `count`; returns their ids, the oldest first. */
  async states(count: number) {
    const workspace = await this.lockedWorkspace()
    const ids: string[] = []
    for (let serial = 1; serial <= count; serial += 1) {
      const body = stateVersionBody(rawState({ serial }))
      ids.push((await this.send('POST', `/workspaces/${workspace}/state-versions`, body)).id)
    }
    return { workspace, ids: ids as [string, ...string[]] }
  }

  /** A person with two-factor authentication, and its next code. */
  async withTwoFactor() {
    const person = await this.person()
    const { secret } = (
      await this.send('POST', '/account/two-factor/actions/enroll', data('users', { password: SECRET }), person.token)
    ).attributes
    return { person, secret: secret as string }
  }

  by(person: TestUser): Pick<ChangeRequest, 'token' | 'by'> {
    return { token: person.token, by: { id: person.id, tokenId: person.actor.tokenId } }
  }
}

/** The request of a page's form, from a browser with that cookie. */
export function formRequest(fields: Record<string, string>, cookie?: string): ChangeRequest {
  return {
    token: undefined,
    body: new URLSearchParams(fields).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'http://groundstate.test',
      ...(cookie !== undefined && { cookie }),
    },
  }
}

/** The CSRF token in the forms of our pages. */
export function csrfOf(cookie: string) {
  const text = cookie.slice(cookie.indexOf('=') + 1)
  return createHash('sha256').update(`consent:${text}`).digest('base64url')
}

/** The request of a change: its route with ids instead of parameters. */
export function requestOf(route: string, input: ChangeRequest, { admin }: AuditFixtures): TestRequest {
  const { ids = [], url, body, headers = {} } = input
  const [method = '', path = ''] = route.split(' ', 2)
  const rest = [...ids]
  const filled = path.replaceAll(/:\w+/g, () => rest.shift() ?? 'missing')
  const prefixed = /^\/(?:oauth|api|_objects)\//.test(filled) ? filled : `/api/v2${filled}`
  const token = 'token' in input ? input.token : admin.token
  return { method: method as 'POST', url: url ?? prefixed, token, body, headers }
}
