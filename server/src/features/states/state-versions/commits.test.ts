import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { connectGithub, uploadCommit } from '../../../testing/commits.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting } from '../../../testing/runs.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

/** A workspace, connected to a repository, whose run of a commit has stored a state. */
async function applyCommit() {
  const setting = await createRunSetting(app)
  const { organization, user, workspaceId: id, workspaceName: name } = setting
  const tokenId = await connectGithub(app, { organization, token: user.token })
  const patch = async (repository: object | null) => {
    const attributes = { 'vcs-repo': repository }
    const body = { data: { type: 'workspaces', attributes } }
    const response = await app.request({ method: 'PATCH', url: `/api/v2/workspaces/${id}`, token: user.token, body })
    expect(response.status).toBe(200)
  }
  await patch({ identifier: 'acme/network', 'oauth-token-id': tokenId })
  const configurationVersionId = await uploadCommit(app, setting)
  await createRun(app, setting, { configurationVersionId, 'auto-apply': true })
  await (await agent.take()).finish()
  const apply = await agent.take()
  const created = await stateClient(app, { id, name }, apply.engineToken).create(rawState({ serial: 1 }))
  await apply.finish()
  const client = stateClient(app, { id, name }, user.token)
  const ofUser = async () => {
    await client.lock()
    return client.create(rawState({ serial: 2 }))
  }
  const list = async () => {
    const query = `filter[organization][name]=${organization}&filter[workspace][name]=${name}`
    return (await client.request('GET', `/state-versions?${query}`)).json().data
  }
  return { client, created, ofUser, list, disconnect: async () => patch(null) }
}

const commitOf = ({ attributes }: { attributes: Record<string, unknown> }) => [
  attributes['vcs-commit-sha'],
  attributes['vcs-commit-url'],
]

test("a state has the commit of its run's configuration", async () => {
  const { client, created, ofUser, list, disconnect } = await applyCommit()

  const current = await client.current()
  const included = await client.request('GET', `/workspaces/${client.id}?include=current_state_version`)
  const own = await ofUser()
  const listed = await list()
  await disconnect()
  const later = await client.show(created.id)

  const sha = '9049f1265b7d61be4a8904a9a27120d2064dab3b'
  const commit = [sha, `https://github.com/acme/network/commit/${sha}`]
  expect([created, current.json().data, included.json().included[0]].map(commitOf)).toEqual([commit, commit, commit])
  expect(commitOf(own)).toEqual([null, null])
  expect(listed.map(commitOf)).toEqual([[null, null], commit])
  expect(later.attributes).not.toHaveProperty('vcs-commit-sha')
})
