import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { passedBy } from '../../../testing/database-proxy.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { createReplica } from '../../../testing/replica.ts'

const app = await createTestApp()
const statements: string[] = []
/** Another server, whose statements are kept. */
const replica = await createReplica(app, {
  reach: async (url) =>
    passedBy(url, (client, target) => {
      client.on('data', (data: Buffer) => {
        statements.push(data.toString('latin1'))
        target.write(data)
      })
      target.pipe(client)
    }),
})

test('users and tokens of teams and organizations read a workspace and its variables in one statement', async () => {
  const owner = await createUser(app)
  const organization = await createOrganization(app, owner)
  const workspace = await createWorkspace(app, { organization: organization.name, actor: owner.actor })
  const url = `/api/v2/workspaces/${workspace.id}`
  const post = async (path: string, body?: object) => {
    const response = await app.request({ method: 'POST', url: path, token: owner.token, body })
    return response.json().data
  }
  const attributes = { key: 'KEY', value: 'x', category: 'env' }
  const variable = await post(`${url}/vars`, { data: { type: 'vars', attributes } })
  const teamId = await createTeamWithAccess(app, {
    members: [],
    organizationId: organization.id,
    workspaces: { [workspace.id]: 'admin' },
  })
  const team = await post(`/api/v2/teams/${teamId}/authentication-token`)
  const ofOrganization = await post(`/api/v2/organizations/${organization.name}/authentication-token`)

  for (const token of [owner.token, team.attributes.token, ofOrganization.attributes.token]) {
    for (const path of [url, `/api/v2/organizations/${organization.name}/workspaces/${workspace.name}`]) {
      statements.length = 0
      const shown = await replica.fastify.inject({ url: path, headers: { authorization: `Bearer ${token}` } })

      expect(shown.json().data.relationships.vars.data).toEqual([{ id: variable.id, type: 'vars' }])
      expect(statements.filter((text) => text.includes('from "workspaces" as "w"'))).toHaveLength(1)
    }
  }
})
