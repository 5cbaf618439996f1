import { execFileSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { makeRepository, serveGit, USER } from '../agent/src/testing/git-server.ts'
import { makeHostKey, makeSshKey, serveSsh } from '../agent/src/testing/ssh-server.ts'
import { IDENTIFIER, PULL_REQUEST, startGitea } from './gitea.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { ENDED, logOf, readRun, until } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'
import { supervise } from './supervisor.ts'
import { hasTerraform } from './terraform.ts'

const resource = (name: string, input: string) => `resource "terraform_data" "${name}" {\n  input = "${input}"\n}\n`

/** Creates a connection and a workspace that follows a repository through it. Returns the ids. */
async function connect(server: BootedServer, connection: object, settings: Record<string, unknown>) {
  const client = await server.api('POST', '/organizations/main/oauth-clients', {
    data: { type: 'oauth-clients', attributes: connection },
  })
  const [token] = client.data.relationships['oauth-tokens'].data
  const { 'vcs-repo': vcsRepo, ...attributes } = settings
  const workspace = await server.api('POST', '/organizations/main/workspaces', {
    data: {
      type: 'workspaces',
      attributes: {
        'queue-all-runs': true,
        ...attributes,
        'vcs-repo': { 'oauth-token-id': token.id, ...(vcsRepo as object) },
      },
    },
  })
  return { clientId: client.data.id as string, id: workspace.data.id as string }
}

/** The run of a commit in a workspace, once it has one of these statuses. Requests fail while the server is down. */
async function runOf(server: BootedServer, workspaceId: string, { sha, wanted }: { sha: string; wanted: string[] }) {
  return until(async () => {
    const path = `/workspaces/${workspaceId}/runs?include=configuration_version.ingress_attributes`
    const list = await server.api('GET', path).catch(() => undefined)
    const commits = new Map<string, string>(
      list?.included.flatMap((one: any) =>
        one.type === 'ingress-attributes' ? [[one.id, one.attributes['commit-sha']]] : [],
      ),
    )
    const versions = new Map<string, string | undefined>(
      list?.included.flatMap((one: any) =>
        one.type === 'configuration-versions'
          ? [[one.id, commits.get(one.relationships['ingress-attributes'].data?.id)]]
          : [],
      ),
    )
    const runs: any[] = list?.data ?? []
    const own = runs.filter((run) => versions.get(run.relationships['configuration-version'].data?.id) === sha)
    expect(own.length).toBeLessThan(2)
    const [run] = own
    if (['errored', 'canceled', 'discarded'].includes(run?.attributes.status)) {
      const log = await logOf(server, run.id, 'plan').catch(String)
      throw new Error(`${run.id} is ${run.attributes.status}: ${run.attributes['error-message']}\n${log}`)
    }
    return wanted.includes(run?.attributes.status) ? run : undefined
  })
}

async function confirm(server: BootedServer, run: { id: string }) {
  await until(async () => {
    await server.api('POST', `/runs/${run.id}/actions/apply`, {}).catch(() => undefined)
    const found = await readRun(server, run.id).catch(() => undefined)
    return found?.attributes.status === 'applied'
  })
}

/** Files of a directory that contain one of the secrets, read as they are. */
async function filesWith(directory: string, secrets: readonly string[]) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const found: string[] = []
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name)
    const content = await readFile(path).catch(() => Buffer.alloc(0))
    if (secrets.some((secret) => content.includes(secret))) found.push(path)
  }
  return found
}

/** Watches the command lines of all processes for secrets. */
function watchCommandLines(secrets: readonly string[]) {
  const found = new Set<string>()
  const stop = new AbortController()
  const watch = async () => {
    while (!stop.signal.aborted) {
      for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
        const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
        if (secrets.some((secret) => line.includes(secret))) found.add(line.replaceAll('\0', ' '))
      }
      await pause(50)
    }
    return [...found]
  }
  const watched = watch()
  return async () => {
    stop.abort()
    return watched
  }
}

test.skipIf(!hasTerraform)(
  'pushes and pull requests survive kills, and what was reviewed is applied',
  { timeout: 400_000 },
  async () => {
    const server = await bootServer({ GROUNDSTATE_LEASE: '3000' })
    const gitea = await startGitea()
    const first = gitea.repository.commit({ 'main.tf': resource('network', 'a-first-value') }, 'First')
    const stopWatching = watchCommandLines([USER.password])
    const { id } = await connect(
      server,
      {
        'service-provider': 'gitea',
        'http-url': gitea.url,
        'oauth-token-username': USER.username,
        'oauth-token-string': USER.password,
      },
      { name: 'network', 'auto-apply-reviewed': true, 'vcs-repo': { identifier: IDENTIFIER } },
    )
    await until(async () => gitea.webhooks.length === 1)
    await using supervised = supervise(server)
    let logs = ''
    const kill = () => {
      logs += server.output()
      supervised.kill()
    }
    const run = async (sha: string, ...wanted: string[]) => runOf(server, id, { sha, wanted })

    // The first run, of the tip of the branch.
    await confirm(server, await run(first, 'planned'))

    // A push, with a kill before it is decided.
    gitea.repository.commit({ 'main.tf': resource('network', 'a-second-value') }, 'Second')
    const second = await gitea.push(first)
    kill()
    const pushed = await run(second, 'planned')
    kill()
    await confirm(server, pushed)
    await until(async () => gitea.statusOf(second) === 'success')
    expect(pushed.attributes).toMatchObject({ message: 'Second', 'plan-only': false })

    // A pull request that `main` has moved on from, with kills while it is fetched and planned.
    gitea.repository.git('checkout', '--quiet', '-b', 'add-database')
    gitea.repository.commit({ 'database.tf': resource('database', 'a-third-value') }, 'Add a database')
    gitea.repository.git('checkout', '--quiet', 'main')
    gitea.repository.commit({ 'cache.tf': resource('cache', 'a-fourth-value') }, 'Add a cache')
    const cached = await gitea.push(second)
    await confirm(server, await run(cached, 'planned'))
    const head = await gitea.report('opened', 'add-database')
    kill()
    await pause(1500)
    kill()
    const planned = await run(head, 'planned_and_finished')
    expect(planned.attributes['plan-only']).toBe(true)
    await until(async () => gitea.statusOf(head) === 'success' && gitea.comments.size === 1)
    await until(async () => gitea.comments.get(1)?.includes('terraform_data.database'))
    // The head alone would delete the cache.
    expect(gitea.comments.get(1)).not.toContain('terraform_data.cache')
    expect(gitea.comments.get(1)).not.toContain('a-third-value')

    // The merge, with kills before it is decided and while it is planned.
    gitea.repository.git('merge', '--quiet', '--no-ff', '--message', 'Merge', 'add-database')
    const merge = gitea.repository.git('rev-parse', 'main')
    await gitea.report('closed', 'add-database', {
      state: 'closed',
      merged: true,
      merge_commit_sha: merge,
      merged_at: '2026-11-20T10:20:33Z',
    })
    await gitea.push(cached)
    kill()
    await pause(1500)
    kill()
    const merged = await run(merge, 'applied')
    const review = await until(() => server.api('GET', `/runs/${merged.id}/reviewed-plan`).catch(() => undefined))
    expect(review.data.attributes).toMatchObject({ result: 'identical', 'pull-request-number': PULL_REQUEST })
    expect(review.data.relationships['reviewed-run'].data.id).toBe(planned.id)
    await until(async () => gitea.statusOf(merge) === 'success')
    expect(gitea.comments.size).toBe(1)
    expect(gitea.unexpected).toEqual([])

    const secrets = [USER.password, gitea.webhooks[0]?.secret ?? '']
    expect(await stopWatching()).toEqual([])
    expect(secrets.filter((secret) => (logs + server.output()).includes(secret))).toEqual([])
    expect(await filesWith(server.dataDir, secrets)).toEqual([])
  },
)

/** Reports a push with the example hook, as a git server does. */
function report(directory: string, webhook: { url: string; secret: string }, refs: { before: string; after: string }) {
  const run = (command: string, args: string[], input = '') =>
    execFileSync(command, args, { cwd: directory, input, stdio: ['pipe', 'ignore', 'inherit'] })
  run('git', ['config', 'groundstate.url', webhook.url])
  run('git', ['config', 'groundstate.secret', webhook.secret])
  const hook = join(import.meta.dirname, '../server/src/vcs-hosts/git/post-receive.sh')
  run('sh', [hook], `${refs.before} ${refs.after} refs/heads/main\n`)
}

test.skipIf(!hasTerraform)(
  'a git server is read over ssh, and reports pushes with a hook',
  { timeout: 300_000 },
  async () => {
    const server = await bootServer({ GROUNDSTATE_LEASE: '3000' })
    const { root } = await serveGit()
    const repository = makeRepository(root, 'network')
    const first = repository.commit({ 'main.tf': resource('network', 'a-first-value') }, 'First')
    const key = await makeSshKey()
    const { port } = await serveSsh(root, { publicKey: key.publicKey, hostKey: await makeHostKey() })
    const { id, clientId } = await connect(
      server,
      { 'service-provider': 'git', 'http-url': `ssh://git@127.0.0.1:${port}`, 'private-key': key.privateKey },
      { name: 'network', 'auto-apply': true, 'vcs-repo': { identifier: 'network' } },
    )
    await using supervised = supervise(server)
    const run = async (sha: string, ...wanted: string[]) => runOf(server, id, { sha, wanted })
    await run(first, 'applied')

    const { data } = await server.api('GET', `/oauth-clients/${clientId}/vcs-repositories`)
    const rotated = await server.api('POST', `/vcs-repositories/${data[0].id}/actions/rotate-webhook-secret`)
    const { secret, 'webhook-url': url } = rotated.data.attributes
    const second = repository.commit({ 'main.tf': resource('network', 'a-second-value') }, 'Second')
    report(repository.directory, { url, secret }, { before: first, after: second })
    supervised.kill()
    const pushed = await run(second, 'applied')

    expect(pushed.attributes.message).toBe('Second')
    const secrets = [secret, key.privateKey.split('\n')[1] ?? '']
    expect(secrets.filter((text) => server.output().includes(text))).toEqual([])
    expect(await filesWith(server.dataDir, secrets)).toEqual([])
  },
)

test.skipIf(!hasTerraform)('modules are fetched over ssh with the key of the workspace', async () => {
  const server = await bootServer()
  const { root } = await serveGit()
  makeRepository(root, 'module').commit({ 'main.tf': resource('inner', 'a-value') })
  const key = await makeSshKey()
  const { port } = await serveSsh(root, { publicKey: key.publicKey, hostKey: await makeHostKey() })
  const configuration = `module "inner" {\n  source = "git::ssh://git@127.0.0.1:${port}/module"\n}\n`
  const workspace = await remoteWorkspace(server, { name: 'modules', configuration })
  const start = async () => {
    const id = await startRun(server, workspace)
    return until(async () => {
      const run = await readRun(server, id)
      return ENDED.has(run.attributes.status) ? run : undefined
    })
  }

  const without = await start()
  const created = await server.api('POST', '/organizations/main/ssh-keys', {
    data: { type: 'ssh-keys', attributes: { name: 'modules', value: key.privateKey } },
  })
  await server.api('PATCH', `/workspaces/${workspace.id}/relationships/ssh-key`, {
    data: { type: 'workspaces', attributes: { id: created.data.id } },
  })
  const applied = await start()

  expect([without.attributes.status, applied.attributes.status]).toEqual(['errored', 'applied'])
  const secrets = [key.privateKey.split('\n')[1] ?? '']
  expect(secrets.filter((text) => server.output().includes(text))).toEqual([])
  expect(await filesWith(server.dataDir, secrets)).toEqual([])
})
