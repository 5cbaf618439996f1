import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { uploadCommit } from '../../../testing/commits.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { actOnRun, addWorkspace, createRun, createRunSetting, readRun } from '../../../testing/runs.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** A workspace with variables of all kinds, an SSH key and a state, next to one that shares its state with all. */
async function createSetting() {
  const setting = await createRunSetting(app, { 'auto-apply': true })
  const { user, organization, workspaceId, workspaceName } = setting
  const send = async (method: Method, path: string, data?: object, token = user.token) =>
    app.request({ method, url: `/api/v2/${path}`, token, ...(data && { body: { data } }) })
  const addVariable = async (parent: string, attributes: object) => {
    const response = await send('POST', `${parent}/vars`, { type: 'vars', attributes })
    expect(response.status).toBe(201)
  }
  const own = `workspaces/${workspaceId}`
  await addVariable(own, { key: 'region', value: 'eu', category: 'terraform' })
  await addVariable(own, { key: 'password', value: 'hunter2', category: 'terraform', sensitive: true })
  await addVariable(own, { key: 'AWS_SECRET', value: 'hunter3', category: 'env', sensitive: true })
  await addVariable(own, { key: 'TF_LOG', value: 'INFO', category: 'env' })
  await addVariable(own, { key: 'role', value: 'plain', category: 'terraform' })
  const attributes = { name: 'enforced', global: true, priority: true }
  const set = await send('POST', `organizations/${organization}/varsets`, { type: 'varsets', attributes })
  const role = { key: 'role', value: 'hunter4', category: 'terraform', sensitive: true }
  const added = await send('POST', `varsets/${set.json().data.id}/relationships/vars`, {
    type: 'vars',
    attributes: role,
  })
  expect(added.status).toBe(201)
  await assignKey()

  async function assignKey() {
    const value = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const key = { type: 'ssh-keys', attributes: { name: 'modules', value } }
    const { id } = (await send('POST', `organizations/${organization}/ssh-keys`, key)).json().data
    const path = `workspaces/${workspaceId}/relationships/ssh-key`
    const assigned = await send('PATCH', path, { type: 'workspaces', attributes: { id } })
    expect(assigned.status).toBe(200)
  }

  async function storeState(workspace: { id: string; name: string }) {
    const client = stateClient(app, workspace, user.token)
    await client.lock()
    const { id } = await client.create(rawState({ serial: 1, outputs: { x: 'y' } }))
    await client.unlock()
    return id as string
  }

  const sharing = await addWorkspace(app, { user, organization, attributes: { 'global-remote-state': true } })
  const states = {
    own: await storeState({ id: workspaceId, name: workspaceName }),
    shared: await storeState({ id: sharing.workspaceId, name: sharing.workspaceName }),
  }
  return { setting, sharing, states, send }
}

async function planCommit(setting: Awaited<ReturnType<typeof createSetting>>['setting'], isFork: boolean) {
  const commit = { pull_request_number: 7, is_fork: isFork }
  const version = await uploadCommit(app, setting, { commit, speculative: true })
  const run = await createRun(app, setting, { configurationVersionId: version })
  return { run, version, job: await agent.take() }
}

test('the job of a pull request from a fork has no sensitive values, and the run names what it lacks', async () => {
  const { setting, send } = await createSetting()

  const fork = await planCommit(setting, true)
  const events = await send('GET', `runs/${fork.run}/run-events`)
  await fork.job.release()
  const retried = await agent.take()
  const eventsAfterRetry = await send('GET', `runs/${fork.run}/run-events`)
  await retried.finish()
  const own = await planCommit(setting, false)

  const keysOf = (job: { variables: { key: string }[] }) => job.variables.map(({ key }) => key).toSorted()
  expect(keysOf(fork.job)).toEqual(['TF_LOG', 'region'])
  expect(keysOf(retried)).toEqual(['TF_LOG', 'region'])
  expect(JSON.stringify([fork.job, retried])).not.toContain('hunter')
  expect(fork.job).toMatchObject({ withholdsSecrets: true, mayApply: false })
  expect(fork.job.sshKey).toBeUndefined()
  const withheld = ({ attributes }: { attributes: { action: string } }) => attributes.action === 'secrets_withheld'
  expect(events.json().data.filter(withheld)).toMatchObject([
    {
      attributes: {
        description: expect.stringMatching(
          /^planned without 3 sensitive variables \(.*\), since the pull request comes from a fork$/,
        ),
      },
    },
  ])
  expect(eventsAfterRetry.json().data.filter(withheld)).toHaveLength(1)
  expect(keysOf(own.job)).toEqual(['AWS_SECRET', 'TF_LOG', 'password', 'region', 'role'])
  expect(own.job).toMatchObject({ withholdsSecrets: false, sshKey: expect.stringContaining('PRIVATE KEY') })
})

test("the engine of a fork's configuration may read the state of its workspace, and nothing else", async () => {
  const { setting, sharing, states, send } = await createSetting()
  const { organization, workspaceId, workspaceName } = setting
  const earlier = await planCommit(setting, false)
  await earlier.job.put('plan-json', '{}')
  await earlier.job.finish()
  const ordinary = await planCommit(setting, false)
  const { job, run } = await planCommit(setting, true)
  const statusOf = async (method: Method, path: string, token = job.engineToken) =>
    (await send(method, path, undefined, token)).status

  const readable = await Promise.all(
    [
      `workspaces/${workspaceId}/current-state-version`,
      `state-versions/${states.own}`,
      `organizations/${organization}/workspaces/${workspaceName}`,
      `organizations/${organization}/entitlement-set`,
    ].map(async (path) => [path, await statusOf('GET', path)]),
  )
  const refused = await Promise.all(
    [
      `workspaces/${workspaceId}/vars`,
      `workspaces/${workspaceId}/all-vars`,
      `workspaces/${workspaceId}/varsets`,
      `workspaces/${workspaceId}/runs`,
      `runs/${run}`,
      `runs/${earlier.run}/plan/json-output`,
      `workspaces/${workspaceId}/configuration-versions`,
      `workspaces/${sharing.workspaceId}/current-state-version`,
      `workspaces/${sharing.workspaceId}/current-state-version-outputs`,
      `state-versions/${states.shared}`,
    ].map(async (path) => [path, await statusOf('GET', path, ordinary.job.engineToken), await statusOf('GET', path)]),
  )
  const listed = await send('GET', `organizations/${organization}/workspaces`, undefined, job.engineToken)
  const writes = [
    (await stateClient(app, { id: workspaceId, name: workspaceName }, job.engineToken).post(rawState())).status,
    await statusOf('POST', `workspaces/${workspaceId}/actions/lock`),
    await statusOf('POST', `runs/${run}/actions/apply`),
  ]

  expect(readable.map(([, status]) => status)).toEqual([200, 200, 200, 200])
  for (const [path, ofOrdinary, ofFork] of refused) {
    expect([ofOrdinary, [403, 404].includes(Number(ofFork))], `${path}: ${ofFork}`).toEqual([200, true])
  }
  for (const status of writes) expect([403, 404]).toContain(status)
  const { data } = listed.json()
  expect(data.map(({ id }: { id: string }) => id)).toEqual([workspaceId])
  expect(data[0].attributes.permissions).toMatchObject({
    'can-read-variable': false,
    'can-create-state-versions': false,
  })
})

test("a run that a person starts with a fork's configuration is planned only, without secrets", async () => {
  const { setting } = await createSetting()
  const version = await uploadCommit(app, setting, { commit: { is_fork: true } })

  const run = await createRun(app, setting, { configurationVersionId: version })
  const job = await agent.take()
  await job.finish()
  const applied = await actOnRun(app, setting, { run, action: 'apply' })

  expect(job).toMatchObject({ withholdsSecrets: true, mayApply: false })
  expect(job.variables.some(({ sensitive }) => sensitive)).toBe(false)
  expect(applied.status).toBe(409)
  expect((await readRun(app, setting, run)).attributes.status).toBe('planned_and_finished')
})
