import { expect, test } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { makeCertificate } from '../testing/certificate.ts'
import { USER, makeRepository, serveGit } from '../testing/git-server.ts'
import { listRefs } from './refs.ts'
import { type Remote, parseRemoteUrl, submoduleRemote } from './remote.ts'

const { signal } = new AbortController()
const network = { knownHostsFile: '/dev/null' }
const credential = { basic: USER, privateKey: 'key' }

test.each([
  ['https://git.example.com/acme/network.git', { scheme: 'https', host: 'git.example.com', port: 443 }],
  ['http://127.0.0.1:8080/acme', { scheme: 'http', host: '127.0.0.1', port: 8080 }],
  ['https://[::1]:8443/acme', { scheme: 'https', host: '::1', port: 8443 }],
  ['ssh://git@git.example.com:2222/acme', { scheme: 'ssh', host: 'git.example.com', port: 2222, user: 'git' }],
  ['git@git.example.com:acme/network.git', { scheme: 'ssh', host: 'git.example.com', port: undefined, user: 'git' }],
  ['git.example.com:acme', { scheme: 'ssh', host: 'git.example.com', user: undefined }],
])('%s is the URL of a repository', (url, expected) => {
  expect(parseRemoteUrl(url)).toMatchObject(expected)
})

test.each([
  '',
  '/srv/git/acme',
  '../acme',
  '--upload-pack=x',
  'ext::sh -c true',
  'file:///srv/git/acme',
  'git://git.example.com/acme',
  'ftp://git.example.com/acme',
  'https://user:secret@git.example.com/acme',
  'https://token@git.example.com/acme',
  'ssh://git:secret@git.example.com/acme',
  'https://git.example.com/acme?x=1',
  'https://git.example.com/a\nb',
  'ssh://-oProxyCommand=x/acme',
  'ssh://-x@git.example.com/acme',
  '-oProxyCommand=x:acme',
  'git.example.com:-x',
])('%j is refused, without repeating it', (url) => {
  const parse = () => parseRemoteUrl(url)

  expect(parse).toThrow(/^the URL of the repository is not valid/)
  expect(parse).not.toThrow('secret')
})

const PASSWORD = { basic: USER }
const KEY = { privateKey: 'key' }

test.each([
  ['https://a.example/acme/network', '../modules', 'https://a.example/acme/modules', credential],
  ['https://a.example/acme/network/', './modules', 'https://a.example/acme/network/modules', credential],
  ['git@a.example:acme/network', '../../other/modules', 'git@a.example:other/modules', credential],
  ['ssh://git@a.example/acme/network', '../modules', 'ssh://git@a.example/acme/modules', credential],
  ['https://a.example/acme/network', 'git@a.example:acme/modules', 'git@a.example:acme/modules', credential],
  ['git@a.example:acme/network', 'https://a.example/acme/modules', 'https://a.example/acme/modules', credential],
  ['https://a.example/acme/network', 'http://a.example/acme/modules', 'http://a.example/acme/modules', KEY],
  ['https://a.example/acme/network', 'https://a.example:8443/modules', 'https://a.example:8443/modules', KEY],
  ['https://a.example/acme/network', 'https://b.example/modules', 'https://b.example/modules', {}],
  ['git@a.example:acme/network', 'git@b.example:modules', 'git@b.example:modules', {}],
])('a submodule of %s at %s is %s', (url, path, expected, credentials) => {
  expect(submoduleRemote({ url, credential, network }, path)).toEqual({
    url: expected,
    credential: credentials,
    network,
  })
})

test('only the certificate authorities of the network are trusted', async () => {
  const certificate = await makeCertificate('IP:127.0.0.1')
  const server = await serveGit({ tls: certificate })
  const sha = makeRepository(server.root, 'acme').commit({ 'main.tf': '' })
  const remote = (more = {}): Remote => ({
    url: `${server.url}/acme`,
    credential: PASSWORD,
    network: { ...network, ...more },
  })

  const refs = await listRefs({ remote: remote({ caFile: certificate.file }), signal })

  expect(refs.branches.get('main')).toBe(sha)
  await expect(listRefs({ remote: remote(), signal })).rejects.toMatchObject({
    kind: 'unreachable',
    message: 'the TLS certificate of 127.0.0.1 cannot be verified',
  })
})

test('git connects through a proxy', async () => {
  const server = await serveGit()
  const sha = makeRepository(server.root, 'acme').commit({ 'main.tf': '' })
  const proxied = { ...network, proxy: { http_proxy: server.url } }
  const remote = { url: 'http://repositories.invalid/acme', credential: PASSWORD, network: proxied }

  expect((await listRefs({ remote, signal })).branches.get('main')).toBe(sha)
})

test('files are remotes only where they are allowed', async () => {
  const root = await temporaryDirectory()
  const repository = makeRepository(root, 'acme')
  const sha = repository.commit({ 'main.tf': '' })
  const remote = { url: `file://${repository.directory}`, credential: {}, network: { ...network, allowFile: true } }

  expect((await listRefs({ remote, signal })).branches.get('main')).toBe(sha)
  await expect(listRefs({ remote: { ...remote, network }, signal })).rejects.toMatchObject({ kind: 'invalid' })
})
