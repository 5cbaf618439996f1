import { describe, expect, test } from 'vitest'
import { createStateSetting, lockedWorkspace, rawState } from '../../../testing/state-versions.ts'

const { app, ada, organization } = await createStateSetting()

describe('the resources of a workspace', () => {
  test('are the instances of its current state', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ resources: ['web', 'db'] }))

    const answer = (await workspace.request('GET', `/workspaces/${workspace.id}/resources`)).json()

    expect(answer.data.map((resource: any) => resource.attributes)).toMatchObject([
      { address: 'terraform_data.db', name: 'db', 'provider-type': 'terraform_data', module: 'root' },
      { address: 'terraform_data.web', 'modified-by-state-version-id': id, 'name-index': null },
    ])
    const found = (await workspace.request('GET', `/workspaces/${workspace.id}/resources?q=web&sort=name:desc`)).json()
    expect(found.meta.pagination['total-count']).toBe(1)
  })

  test('are none without a state', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)

    expect((await workspace.request('GET', `/workspaces/${workspace.id}/resources`)).json().data).toEqual([])
  })
})
