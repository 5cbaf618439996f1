import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { atEnd } from '../../testing/cleanup.ts'
import { signedWebhook, startFakeHost, webhook } from '../testing/fake-host.ts'
import { gitServer } from './api.ts'
import { gitWebhooks } from './webhooks.ts'

const OLD = 'a'.repeat(40)
const NEW = 'b'.repeat(40)
const ZERO = '0'.repeat(40)
const SECRET = `a secret with 'quotes' and $signs`

const parse = (body: unknown) => gitWebhooks.parse(webhook(body))

/** A bare repository with the example hook, and a clone. */
async function setUp() {
  const root = await mkdtemp(join(tmpdir(), 'groundstate-git-'))
  atEnd(() => rm(root, { recursive: true }))
  const environment = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
  const run = promisify(execFile)
  const git = async (cwd: string, ...args: string[]) => {
    const identity = ['-c', 'user.name=Jane', '-c', 'user.email=jane@example.com']
    const { stdout } = await run('git', [...identity, ...args], { cwd: join(root, cwd), env: environment })
    return stdout.trim()
  }
  const groundstate = await startFakeHost()
  groundstate.reply('POST /webhooks/vcs/1', { status: 202, body: {} })
  await git('.', 'init', '--quiet', '--bare', '--initial-branch=main', 'server.git')
  await git('server.git', 'config', 'groundstate.url', `${groundstate.url}/webhooks/vcs/1`)
  await git('server.git', 'config', 'groundstate.secret', SECRET)
  const hook = join(root, 'server.git/hooks/post-receive')
  await copyFile(join(import.meta.dirname, 'post-receive.sh'), hook)
  await chmod(hook, 0o755)
  await git('.', 'init', '--quiet', '--initial-branch=main', 'clone')
  await git('clone', 'remote', 'add', 'origin', '../server.git')
  return { groundstate, git }
}

test('the example hook reports what real pushes do', async () => {
  const { groundstate, git } = await setUp()

  await git('clone', 'commit', '--quiet', '--allow-empty', '--message=One')
  await git('clone', 'tag', '--annotate', '--message=First', 'v1')
  await git('clone', 'push', '--quiet', 'origin', 'main', 'v1', 'main:feature/"quoted"')
  await git('clone', 'commit', '--quiet', '--allow-empty', '--message=Two')
  await git('clone', 'push', '--quiet', 'origin', 'main', ':v1')

  const [two, one] = (await git('clone', 'log', '--format=%H')).split('\n')
  const received = groundstate.requests.map(({ headers, text }) => ({ headers, body: Buffer.from(text) }))
  expect(received.map((request) => gitWebhooks.verify(request, SECRET))).toEqual([true, true, true, true, true])
  expect(new Set(received.map((request) => gitWebhooks.deliveryId(request))).size).toBe(5)
  const events = received.flatMap((request) => gitWebhooks.parse(request).events ?? [])
  expect(events).toHaveLength(5)
  expect(events).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        kind: 'push',
        branch: 'main',
        before: null,
        commit: { sha: one, message: '', url: '' },
      }),
      expect.objectContaining({ kind: 'push', branch: 'feature/"quoted"', before: null }),
      expect.objectContaining({
        kind: 'push',
        branch: 'main',
        before: one,
        commit: { sha: two, message: '', url: '' },
      }),
      expect.objectContaining({ kind: 'tag', tag: 'v1', commit: null }),
    ]),
  )
})

test('the signature is the HMAC of the body', () => {
  const body = { ref: 'refs/heads/main', before: OLD, after: NEW }
  const signed = signedWebhook(body, SECRET, 'x-groundstate-signature')

  expect(gitWebhooks.verify(signed, SECRET)).toBe(true)
  expect(gitWebhooks.verify(signed, 'another')).toBe(false)
  expect(gitWebhooks.verify({ ...signed, body: Buffer.from('{}') }, SECRET)).toBe(false)
  expect(gitWebhooks.verify(webhook(body), SECRET)).toBe(false)
})

test('a webhook may name the repository, the user and the message', () => {
  const body = {
    ref: 'refs/heads/main',
    before: OLD,
    after: NEW,
    repository: 'acme/network',
    pusher: 'jane',
    message: 'Two',
  }

  expect(parse(body)).toEqual({
    identifier: 'acme/network',
    events: [
      {
        kind: 'push',
        branch: 'main',
        before: OLD,
        commit: { sha: NEW, message: 'Two', url: '' },
        compareUrl: '',
        sender: { username: 'jane', avatarUrl: '', pageUrl: '' },
        changedFiles: null,
      },
    ],
  })
})

test('commits of SHA-256 repositories have 64 digits', () => {
  const { events } = parse({ ref: 'refs/tags/v1', before: '0'.repeat(64), after: 'c'.repeat(64) })

  expect(events).toMatchObject([{ kind: 'tag', tag: 'v1', commit: { sha: 'c'.repeat(64) } }])
})

test('refs other than branches and tags are ignored with a reason', () => {
  expect(parse({ ref: 'refs/notes/commits', before: ZERO, after: NEW }).ignored).toBe(
    'refs/notes/commits is neither a branch nor a tag',
  )
})

test.each([
  '',
  '{',
  '{"ref":"main"}',
  `{"ref":"main","before":"${OLD}","after":"${NEW}"}`,
  '{"ref":"refs/heads/main","before":"1","after":"2"}',
])('the body %s is refused', (body) => {
  expect(() => parse(body)).toThrow(expect.objectContaining({ name: 'ZodError' }))
})

test.each([
  [
    'https://git.example.com/srv',
    {
      page: '',
      clone: 'https://git.example.com/srv/acme/my%20network.git',
      ssh: 'ssh://git@git.example.com/srv/acme/my%20network.git',
    },
  ],
  [
    'ssh://git@git.example.com:2222',
    {
      page: '',
      clone: 'ssh://git@git.example.com:2222/acme/my%20network.git',
      ssh: 'ssh://git@git.example.com:2222/acme/my%20network.git',
    },
  ],
])('repositories of %s have their addresses from the identifier', (httpUrl, urls) => {
  expect(gitServer.repositoryUrls({ httpUrl }, 'acme/my network.git')).toEqual(urls)
})

test('the documentation has the example hook', async () => {
  const hook = await readFile(join(import.meta.dirname, 'post-receive.sh'), 'utf8')
  const page = await readFile(join(import.meta.dirname, '../../../../docs/repositories/git.md'), 'utf8')

  expect(page).toContain(`\`\`\`sh\n${hook}\`\`\`\n`)
})
