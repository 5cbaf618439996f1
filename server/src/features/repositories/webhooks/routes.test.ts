import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'
import { signedWebhook } from '../../../vcs-hosts/testing/fake-host.ts'

const app = await createTestApp()
const owner = await createUser(app)

async function send(method: 'GET' | 'POST' | 'PATCH', path: string, data?: unknown, token = owner.token) {
  return app.request({ method, url: `/api/v2/${path}`, token, ...(data !== undefined && { body: { data } }) })
}

/** A workspace that follows network.git of a git server, with its connection. */
async function followGit() {
  const { name: organization, id } = await createOrganization(app, owner)
  const attributes = {
    'service-provider': 'git',
    'http-url': 'https://git.example.com/srv',
    'oauth-token-string': 'a token',
    'oauth-token-username': 'deploy',
  }
  const created = await send('POST', `organizations/${organization}/oauth-clients`, {
    type: 'oauth-clients',
    attributes,
  })
  const client = created.json().data
  const workspace = await createWorkspace(app, { organization, actor: owner.actor })
  await send('PATCH', `workspaces/${workspace.id}`, {
    type: 'workspaces',
    attributes: {
      'vcs-repo': {
        identifier: 'network.git',
        'oauth-token-id': client.relationships['oauth-tokens'].data[0].id,
        branch: 'main',
      },
    },
  })
  const list = async (token?: string) =>
    (await send('GET', `oauth-clients/${client.id}/vcs-repositories`, undefined, token)).json().data
  return { organizationId: id, organization, clientId: client.id as string, list }
}

test('the repositories of a connection say how the host reports changes', async () => {
  const { list } = await followGit()

  const [repository, ...others] = await list()

  expect(others).toEqual([])
  expect(repository.attributes).toMatchObject({
    identifier: 'network.git',
    'page-url': null,
    'webhook-status': 'by-hand',
    'webhook-error': null,
    'workspace-count': 1,
    'last-delivery-at': null,
  })
})

test('a new secret is shown once, and signs webhooks from then on', async () => {
  const { list, clientId, organization } = await followGit()
  const [{ id }] = await list()
  const body = { ref: 'refs/heads/main', before: '0'.repeat(40), after: 'a'.repeat(40) }
  const push = async (secret: string, url: string) => {
    const request = signedWebhook(body, secret, 'x-groundstate-signature')
    const headers = { ...(request.headers as Record<string, string>), 'x-groundstate-delivery': secret }
    return (await app.request({ method: 'POST', url: new URL(url).pathname, headers, body: request.body })).status
  }

  const first = (await send('POST', `vcs-repositories/${id}/actions/rotate-webhook-secret`)).json().data.attributes
  const accepted = await push(first.secret, first['webhook-url'])
  const second = (await send('POST', `vcs-repositories/${id}/actions/rotate-webhook-secret`)).json().data.attributes
  const statuses = [await push(first.secret, first['webhook-url']), await push(second.secret, second['webhook-url'])]
  const clients = await send('GET', `organizations/${organization}/oauth-clients?show_affected_workspaces=true`)
  const [repository] = await list()

  expect([accepted, ...statuses]).toEqual([202, 401, 202])
  expect(JSON.stringify(repository)).not.toContain(second.secret)
  expect(repository.attributes['last-delivery-at']).not.toBeNull()
  expect(clients.json().data).toMatchObject([
    { id: clientId, attributes: { 'last-delivery-at': repository.attributes['last-delivery-at'] } },
  ])
})

test('a refused webhook says which header is missing, which form it has, and what is not JSON', async () => {
  const { list } = await followGit()
  const [{ id }] = await list()
  const hook = (await send('POST', `vcs-repositories/${id}/actions/rotate-webhook-secret`)).json().data.attributes
  const refusal = async (headers: Record<string, string>, body: Buffer) => {
    const response = await app.request({ method: 'POST', url: new URL(hook['webhook-url']).pathname, headers, body })
    return `${response.status} ${response.json().errors[0].detail}`
  }
  const { body, headers } = signedWebhook('ref=main', hook.secret, 'x-groundstate-signature')
  const signature = String(headers['x-groundstate-signature'])
  const signed = { 'x-groundstate-signature': signature }
  const form = 'X-Groundstate-Signature: sha256=<HMAC-SHA256 of the body in hexadecimal>'

  const mismatch = `401 the signature of the webhook does not match its secret: it must be ${form}`
  expect(await refusal({}, body)).toBe(`401 the webhook has no signature: it must have the header ${form}`)
  expect(await refusal({ 'x-groundstate-signature': signature.replace('sha256=', '') }, body)).toBe(mismatch)
  expect(await refusal(signed, Buffer.from('other'))).toBe(mismatch)
  expect(await refusal({ ...signed, 'content-type': 'application/json' }, body)).toMatch(/it is not JSON$/)
  const asForm = { ...signed, 'content-type': 'application/x-www-form-urlencoded' }
  expect(await refusal(asForm, body)).toMatch(/choose the content type application\/json$/)
})

test('a webhook that users create is not created by the server, which says how to', async () => {
  const { list } = await followGit()
  const [{ id }] = await list()

  const refused = await send('POST', `vcs-repositories/${id}/actions/register-webhook`)

  expect(refused.status).toBe(409)
  expect(refused.json().errors[0].detail).toMatch(/webhook-url and a secret of actions\/rotate-webhook-secret$/)
})

test('a member sees the repositories without the address of the webhook, and changes nothing', async () => {
  const { list, organizationId } = await followGit()
  const member = await createUser(app)
  await addMember(app, organizationId, member)

  const [repository] = await list(member.token)
  const path = `vcs-repositories/${repository.id}/actions`
  const rotated = await send('POST', `${path}/rotate-webhook-secret`, undefined, member.token)
  const registered = await send('POST', `${path}/register-webhook`, undefined, member.token)
  const stranger = await createUser(app)
  const unseen = await send('POST', `${path}/register-webhook`, undefined, stranger.token)

  expect(repository.attributes['webhook-url']).toBeNull()
  expect([rotated.status, registered.status, unseen.status]).toEqual([403, 403, 404])
})
