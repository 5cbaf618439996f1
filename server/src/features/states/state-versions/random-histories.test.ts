import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from '../../../testing/factories.ts'
import { download, rawState, type StateClient, stateClient, upload } from '../../../testing/state-versions.ts'

/** Number of random histories, of 43 steps on average; more on demand. */
const HISTORIES = Number(process.env['STATE_MODEL_HISTORIES'] ?? 50)
const STEPS = 80

let app: TestApp
let users: TestUser[]
let organization: string

beforeAll(async () => {
  app = await createTestApp()
  const owner = await createUser(app)
  const { id, name } = await createOrganization(app, owner)
  organization = name
  const others = [await createUser(app), await createUser(app)]
  const team = await app.db.selectFrom('teams').select('id').where('organization_id', '=', id).executeTakeFirstOrThrow()
  for (const user of others) {
    await app.db
      .insertInto('team_members')
      .values({ team_id: team.id, user_id: user.id, created_at: app.now() })
      .execute()
  }
  users = [owner, ...others]
})

type Status = 'pending' | 'finalized' | 'discarded' | 'backing_data_soft_deleted' | 'backing_data_permanently_deleted'
type Version = {
  id: string
  serial: number
  raw: Buffer
  status: Status
  intermediate: boolean
  uploadUrl: string | null
}

/** A model of the API's guarantees about one workspace. */
type Model = { lock: number | undefined; versions: Version[]; current?: Version; latest?: Version; pending?: Version }
type Real = { clients: StateClient[] }
type Command = fc.AsyncCommand<Model, Real>

let steps = 0

function command(text: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return {
    check: () => true,
    run: async (model, real) => {
      steps += 1
      await run(model, real)
    },
    toString: () => text,
  }
}

const clientOf = (real: Real, user: number) => {
  const client = real.clients[user]
  if (!client) throw new Error(`there is no user ${user}`)
  return client
}
const pick = (model: Model, index: number) => model.versions[index % Math.max(1, model.versions.length)]

function finalized(model: Model, version: Version) {
  version.status = 'finalized'
  version.uploadUrl = null
  model.latest = version
  if (!version.intermediate) model.current = version
}

function released(model: Model) {
  model.lock = undefined
  discarded(model)
  if (model.latest) {
    model.current = model.latest
    model.latest.intermediate = false
  }
}

function discarded(model: Model) {
  if (model.pending) Object.assign(model.pending, { status: 'discarded', uploadUrl: null })
  delete model.pending
}

const user = fc.nat({ max: 2 })
const target = fc.nat({ max: 30 })

const create = fc
  .record({
    user,
    step: fc.integer({ min: -1, max: 2 }),
    content: fc.constantFrom('a', 'b'),
    inline: fc.boolean(),
    intermediate: fc.boolean(),
  })
  .map((input) =>
    command(`create(${JSON.stringify(input)})`, async (model, real) => {
      const serial = Math.max(0, (model.latest?.serial ?? 0) + input.step)
      const raw = rawState({ serial, outputs: { content: input.content } })
      const { latest } = model

      const response = await clientOf(real, input.user).post(raw, {
        intermediate: input.intermediate,
        ...(!input.inline && { state: undefined }),
      })

      if (model.lock !== input.user) return equal(response.status, 409)
      if (latest && serial < latest.serial) return equal(response.status, 412)
      const isSame = latest?.serial === serial
      if (latest && isSame && !latest.raw.equals(raw)) return equal(response.status, 409)
      equal(response.status, 201)
      const { id, attributes } = response.json().data
      if (latest && isSame && input.inline) return equal(id, latest.id)
      discarded(model)
      const version: Version = {
        id,
        serial,
        raw,
        status: 'pending',
        intermediate: input.intermediate,
        uploadUrl: attributes['hosted-state-upload-url'],
      }
      model.versions.push(version)
      if (input.inline) finalized(model, version)
      else model.pending = version
      return equal(attributes.status, version.status)
    }),
  )

const uploadIt = fc.record({ target, right: fc.boolean() }).map((input) =>
  command(`upload(${JSON.stringify(input)})`, async (model) => {
    const version = input.right ? model.pending : pick(model, input.target)
    if (!version?.uploadUrl) return
    const content = input.right ? version.raw : Buffer.from('something else')

    const response = await upload(app, version.uploadUrl, content)

    if (version.status !== 'pending') return equal(response.status, 409)
    if (!input.right) return equal(response.status, 422)
    equal(response.status, 200)
    delete model.pending
    finalized(model, version)
  }),
)

const lock = user.map((index) =>
  command(`lock(${index})`, async (model, real) => {
    const response = await clientOf(real, index).lock()

    equal(response.status, model.lock === undefined ? 200 : 409)
    if (model.lock === undefined) model.lock = index
  }),
)

const unlock = user.map((index) =>
  command(`unlock(${index})`, async (model, real) => {
    const response = await clientOf(real, index).unlock()

    if (model.lock !== index) return equal(response.status, 409)
    if (model.pending) return equal(response.status, 422)
    equal(response.status, 200)
    released(model)
  }),
)

const forceUnlock = user.map((index) =>
  command(`forceUnlock(${index})`, async (model, real) => {
    const response = await clientOf(real, index).forceUnlock()

    equal(response.status, model.lock === undefined ? 409 : 200)
    if (model.lock !== undefined) released(model)
  }),
)

const rollBack = fc.record({ user, target }).map((input) =>
  command(`rollBack(${JSON.stringify(input)})`, async (model, real) => {
    const version = pick(model, input.target)
    if (!version) return
    const response = await clientOf(real, input.user).rollBack(version.id)

    if (version.status !== 'finalized') return equal(response.status, 422)
    if (model.lock !== input.user) return equal(response.status, 409)
    equal(response.status, 201)
    const serial = Math.max(...model.versions.map((one) => one.serial)) + 1
    discarded(model)
    const { id, attributes } = response.json().data
    equal(attributes.serial, serial)
    const raw = Buffer.from(version.raw.toString().replace(`"serial": ${version.serial},`, `"serial": ${serial},`))
    const copy: Version = {
      id,
      serial,
      raw,
      status: 'pending',
      intermediate: false,
      uploadUrl: null,
    }
    model.versions.push(copy)
    finalized(model, copy)
  }),
)

const TRANSITIONS = {
  soft_delete_backing_data: ['finalized', 'backing_data_soft_deleted'],
  restore_backing_data: ['backing_data_soft_deleted', 'finalized'],
  permanently_delete_backing_data: ['backing_data_soft_deleted', 'backing_data_permanently_deleted'],
} as const satisfies Record<string, [Status, Status]>

const transition = fc
  .record({ target, action: fc.constantFrom(...(Object.keys(TRANSITIONS) as (keyof typeof TRANSITIONS)[])) })
  .map((input) =>
    command(`${input.action}(${input.target})`, async (model, real) => {
      const version = pick(model, input.target)
      if (!version) return
      const [from, to] = TRANSITIONS[input.action]

      const response = await clientOf(real, 0).action(version.id, input.action)

      const isNeeded = version === model.current || version === model.latest
      if (version.status !== from || isNeeded) return equal(response.status, 400)
      equal(response.status, 200)
      version.status = to
    }),
  )

/** Invariants that hold for every reader at any time. */
const look = user.map((index) =>
  command(`look(${index})`, async (model, real) => {
    const client = clientOf(real, index)
    const current = await client.current()
    if (!model.current) equal(current.status, 404)
    else equal(current.json().data.id, model.current.id)
  }),
)

async function checkAll(model: Model, client: StateClient) {
  expect((await client.request('GET', `/workspaces/${client.id}`)).json().data.attributes.locked).toBe(
    model.lock !== undefined,
  )
  const current = await client.current()
  expect(current.status === 200 ? current.json().data.id : undefined).toBe(model.current?.id)
  const query = `filter[organization][name]=${organization}&filter[workspace][name]=${client.name}&page[size]=100`
  const list = (await client.request('GET', `/state-versions?${query}`)).json()
  expect(list.meta.pagination['total-count']).toBe(model.versions.length)
  expect(
    list.data.map(({ id, attributes: { status, serial, intermediate } }: any) => ({
      id,
      status,
      serial,
      intermediate,
    })),
  ).toEqual(
    model.versions.map(({ id, status, serial, intermediate }) => ({ id, status, serial, intermediate })).toReversed(),
  )
  for (const { id, attributes } of list.data) {
    if (attributes.status !== 'finalized') continue
    const content = await download(app, attributes['hosted-state-download-url'])
    expect(content.bytes.equals(model.versions.find((version) => version.id === id)?.raw ?? Buffer.alloc(0))).toBe(true)
  }
}

test('any interleaving of three users matches the model', async () => {
  const commands = fc.commands(
    [
      create,
      create,
      create,
      uploadIt,
      uploadIt,
      lock,
      lock,
      unlock,
      forceUnlock,
      rollBack,
      transition,
      transition,
      look,
    ],
    { maxCommands: STEPS, size: '+2' },
  )
  await fc.assert(
    fc.asyncProperty(commands, async (steps) => {
      const workspace = await createWorkspace(app, { organization })
      const model: Model = { lock: undefined, versions: [] }
      const real = { clients: users.map((one) => stateClient(app, workspace, one.token)) }

      await fc.asyncModelRun(() => ({ model, real }), steps)

      await checkAll(model, clientOf(real, 0))
    }),
    { numRuns: HISTORIES, endOnFailure: true },
  )
  expect(steps).toBeGreaterThan(HISTORIES * 20)
}, 600_000)
