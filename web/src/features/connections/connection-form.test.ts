import { SERVICE_PROVIDERS, type ServiceProvider, createOAuthClientBody } from '@groundstate/contract/oauth-clients'
import { expect, test } from 'vitest'
import { documentOfPage } from '../documentation/documents.ts'
import { NEW_CONNECTION, newConnectionBody } from './connection-form.ts'
import { connectionOptions } from './connections.ts'
import { PROVIDERS, connectionName, hostPage } from './providers.ts'

const VALUES = {
  ...NEW_CONNECTION,
  httpUrl: ' https://git.example.com ',
  token: ' secret ',
  username: 'deploy',
  key: 'client',
  secret: 'client-secret',
}

test.each(Object.keys(SERVICE_PROVIDERS) as ServiceProvider[])('the server accepts a connection to %s', (provider) => {
  const data = { type: 'oauth-clients', ...newConnectionBody(provider, VALUES, []) }

  const { attributes } = createOAuthClientBody.parse({ data }).data

  expect(attributes['oauth-token-string']).toBe('secret')
  expect(attributes['oauth-token-username']).toBe(PROVIDERS[provider].username === undefined ? undefined : 'deploy')
  expect(attributes['http-url']).toBe(PROVIDERS[provider].address === null ? undefined : 'https://git.example.com')
  expect(attributes.key).toBeUndefined()
})

test('each host has a guide', () => {
  expect(Object.values(PROVIDERS).filter(({ guide }) => documentOfPage(guide) === undefined)).toEqual([])
})

test('only the credentials of the chosen way are sent', () => {
  const oauth = newConnectionBody('github', { ...VALUES, way: 'oauth' }, []).attributes
  const ssh = newConnectionBody('git', { ...VALUES, way: 'ssh-key', privateKey: 'a key' }, []).attributes

  expect(oauth).toMatchObject({ key: 'client', secret: 'client-secret' })
  expect(oauth).not.toHaveProperty('oauth-token-string')
  expect(ssh).toMatchObject({ 'private-key': 'a key' })
  expect(ssh).not.toHaveProperty('oauth-token-string')
})

test('the projects are sent for a connection that is not for the whole organization', () => {
  const selected = newConnectionBody('github', { ...VALUES, scope: 'selected', poolId: 'apool-1' }, ['prj-1'])

  expect(selected.attributes['organization-scoped']).toBe(false)
  expect(selected.relationships).toEqual({
    'agent-pool': { data: { type: 'agent-pools', id: 'apool-1' } },
    projects: { data: [{ type: 'projects', id: 'prj-1' }] },
  })
})

test('the page for tokens is on the host itself', () => {
  const { path } = PROVIDERS.gitea.token

  expect(hostPage('gitea', 'https://git.example.com/', path)).toBe('https://git.example.com/user/settings/applications')
  expect(hostPage('github', '', PROVIDERS.github.token.path)).toMatch(/^https:\/\/github\.com\/settings\/tokens\/new\?/)
  expect(hostPage('gitea', '', path)).toBeUndefined()
  expect(hostPage('gitea', 'javascript:alert(1)//', path)).toBeUndefined()
})

test('a connection without a name is called by its host', () => {
  const named = (name: string | null, provider: ServiceProvider, url: string) =>
    connectionName({ attributes: { name, 'service-provider': provider, 'http-url': url } })

  expect(named('Work', 'github', 'https://github.com')).toBe('Work')
  expect(named(null, 'github', 'https://github.com')).toBe('GitHub')
  expect(named(null, 'gitea', 'https://git.example.com')).toBe('Gitea and Forgejo at git.example.com')
})

test('connections with the same name are told apart by their address, and else by their id', () => {
  const connection = (id: string, name: string, address: string) => ({ id, name, address })

  const texts = connectionOptions([
    connection('ot-1', 'Work', 'git.example.com'),
    connection('ot-2', 'Work', 'github.com'),
    connection('ot-3', 'Work', 'github.com'),
    connection('ot-4', 'Home', 'github.com'),
  ]).map(([, text]) => text)

  expect(texts).toEqual(['Work (git.example.com)', 'Work (github.com, ot-2)', 'Work (github.com, ot-3)', 'Home'])
})
