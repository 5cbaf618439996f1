import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

function newPrivateKey() {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
async function send(method: Method, path: string, attributes?: object, token = owner.token, type = 'ssh-keys') {
  const body = attributes && { data: { type, attributes } }
  return app.request({ method, url: `/api/v2/${path}`, token, ...(body && { body }) })
}

async function createKey(name: string, value = newPrivateKey()) {
  const response = await send('POST', `organizations/${acme.name}/ssh-keys`, { name, value })
  expect(response.status).toBe(201)
  return response.json().data
}

test('a key is created, listed, renamed and deleted, and its value is never shown', async () => {
  const value = newPrivateKey()

  const created = await createKey('modules', value)
  const renamed = await send('PATCH', `ssh-keys/${created.id}`, { name: 'registry' })
  const list = await send('GET', `organizations/${acme.name}/ssh-keys`)
  const shown = await send('GET', `ssh-keys/${created.id}`)
  const stored = await app.db.selectFrom('ssh_keys').select('value').where('id', '=', created.id).executeTakeFirst()
  const deleted = await send('DELETE', `ssh-keys/${created.id}`)
  const gone = await send('GET', `ssh-keys/${created.id}`)

  expect(created).toEqual({
    id: expect.stringMatching(/^sshkey-/),
    type: 'ssh-keys',
    attributes: { name: 'modules' },
    links: { self: `/api/v2/ssh-keys/${created.id}` },
  })
  expect(renamed.json().data.attributes).toEqual({ name: 'registry' })
  expect(list.json().data).toEqual([shown.json().data])
  expect(stored?.value.includes('PRIVATE KEY')).toBe(false)
  expect([deleted.status, gone.status]).toEqual([204, 404])
})

test.each([
  ['no key', '/data/attributes/value', { name: 'x', value: 'ssh-ed25519 AAAA' }, /public key, not the private key/],
  ['a part of a key', '/data/attributes/value', { name: 'x', value: '-----BEGIN PRIVATE KEY-----' }, /private key/],
  ['no value', '/data/attributes/value', { name: 'x' }, /value/],
  ['a blank name', '/data/attributes/name', { name: ' ', value: newPrivateKey() }, /can't be blank/],
])('%s is rejected', async (_, pointer, attributes, detail) => {
  const refused = await send('POST', `organizations/${acme.name}/ssh-keys`, attributes)

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0]).toMatchObject({ detail: expect.stringMatching(detail), source: { pointer } })
})

test('a key with a passphrase is rejected, since nobody could type it', async () => {
  const options = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  const value = generateKeyPairSync('ed25519').privateKey.export(options).toString()

  const refused = await send('POST', `organizations/${acme.name}/ssh-keys`, { name: 'locked', value })

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].detail).toContain('passphrase')
})

/** A key as `ssh-keygen` writes it: the name of its cipher comes first, which is `none` without a passphrase. */
function openSshKey(cipher: string) {
  const length = Buffer.from([0, 0, 0, cipher.length])
  const content = Buffer.concat([Buffer.from('openssh-key-v1\0'), length, Buffer.from(cipher), Buffer.alloc(200)])
  const lines = content.toString('base64').replaceAll(/.{18}/g, '$&\n')
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines}\n-----END OPENSSH PRIVATE KEY-----\n`
}

test('a key of OpenSSH with a passphrase is rejected everywhere, with the way to remove it', async () => {
  const [locked, open] = [openSshKey('aes256-ctr'), openSshKey('none')]
  const { id } = await createKey('openssh', open)
  const host = { 'service-provider': 'git', 'http-url': 'ssh://git@git.example.com' }
  const connect = async (key: string) =>
    send(
      'POST',
      `organizations/${acme.name}/oauth-clients`,
      { ...host, 'private-key': key },
      owner.token,
      'oauth-clients',
    )
  const connected = await connect(open)
  expect(connected.status).toBe(201)
  const token = connected.json().data.relationships['oauth-tokens'].data[0].id

  const refused = [
    await send('POST', `organizations/${acme.name}/ssh-keys`, { name: 'locked', value: locked }),
    await send('PATCH', `ssh-keys/${id}`, { value: locked }),
    await send('PATCH', `oauth-tokens/${token}`, { 'ssh-key': locked }, owner.token, 'oauth-tokens'),
    await connect(locked),
  ]

  expect(refused.map(({ status }) => status)).toEqual([422, 422, 422, 422])
  const errors = refused.map((response) => response.json().errors[0])
  for (const { detail } of errors) expect(detail).toMatch(/it has a passphrase: remove it with ssh-keygen -p/)
  expect(errors.map(({ source }) => source.pointer.split('/').at(-1))).toEqual([
    'value',
    'value',
    'ssh-key',
    'private-key',
  ])
})

test('names are unique in an organization', async () => {
  await createKey('twice')

  const again = await send('POST', `organizations/${acme.name}/ssh-keys`, { name: 'twice', value: newPrivateKey() })

  expect(again.status).toBe(422)
  expect(again.json().errors[0].detail).toContain('Name has already been taken')
})

test('members see names but change nothing, and strangers see nothing', async () => {
  const key = await createKey('visible')
  const member = await createUser(app)
  await addMember(app, acme.id, member)
  const stranger = await createUser(app)

  const read = await send('GET', `ssh-keys/${key.id}`, undefined, member.token)
  const changed = await send('PATCH', `ssh-keys/${key.id}`, { name: 'mine' }, member.token)
  const hidden = await send('GET', `ssh-keys/${key.id}`, undefined, stranger.token)

  expect([read.status, changed.status, hidden.status]).toEqual([200, 403, 404])
})

test('a key is assigned to a workspace and removed, also by its deletion', async () => {
  const [first, second] = [await createKey('first'), await createKey('second')]
  const workspace = await createWorkspace(app, { organization: acme.name, actor: owner.actor })
  const assign = async (id: string | null | undefined) => {
    const body = { data: { type: 'workspaces', attributes: { id } } }
    const url = `/api/v2/workspaces/${workspace.id}/relationships/ssh-key`
    return app.request({ method: 'PATCH', url, token: owner.token, body })
  }
  const assigned = (await assign(first.id)).json().data.relationships['ssh-key']
  const removed = (await assign(null)).json().data.relationships['ssh-key']
  await assign(second.id)
  await send('DELETE', `ssh-keys/${second.id}`)
  const after = await send('GET', `workspaces/${workspace.id}`)
  const unknown = await assign('sshkey-nothing')
  const missing = await assign(undefined)

  expect(assigned).toEqual({ data: { type: 'ssh-keys', id: first.id } })
  expect(removed).toEqual({ data: null })
  expect(after.json().data.relationships['ssh-key']).toEqual({ data: null })
  expect(unknown.status).toBe(422)
  expect(unknown.json().errors[0]).toMatchObject({
    detail: 'the organization has no SSH key sshkey-nothing',
    source: { pointer: '/data/attributes/id' },
  })
  expect(missing.status).toBe(422)
  expect(missing.json().errors[0]).toMatchObject({
    detail: 'id is missing: it must be the id of an SSH key, or null to remove it',
    source: { pointer: '/data/attributes/id' },
  })
})
