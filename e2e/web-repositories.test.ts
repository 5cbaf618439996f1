import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { USER } from '../agent/src/testing/git-server.ts'
import { SHA, push, repository } from '../server/src/vcs-hosts/gitea/testing/bodies.ts'
import { startFakeHost } from '../server/src/vcs-hosts/testing/fake-host.ts'
import { hasBrowser } from './browser.ts'
import { startFakeGitea } from './fake-gitea.ts'
import { IDENTIFIER, startGitea } from './gitea.ts'
import { until } from './run-progress.ts'
import type { BootedServer } from './server.ts'
import { hasTerraform } from './terraform.ts'
import {
  accessFaults,
  bootWebServer,
  createMember,
  layoutFaults,
  openAdminPage,
  openPageOf,
  watchFaults,
} from './web-page.ts'
import { button, openTab, region } from './workspace-page.ts'

let server: BootedServer
let page: Page
let faults: string[] | undefined

beforeAll(async () => {
  if (!hasBrowser) return
  server = await bootWebServer()
  page = await openAdminPage(server, '/app/main/connections')
  faults = watchFaults(page, ['422 ', /^503 .*authorized-repos/])
})

beforeEach(() => void faults?.splice(0))

async function open(path: string, title: string) {
  await page.goto(`${server.url}/app/main${path}`)
  await page.getByRole('heading', { name: title, level: 1 }).waitFor()
}

/** Opens the dialog, which hides the heading of the page. */
async function openNewWorkspace() {
  await page.goto(`${server.url}/app/main/workspaces?new=true`)
  return page.getByRole('dialog')
}

async function createWorkspace(name: string): Promise<string> {
  const { data } = await server.api('POST', '/organizations/main/workspaces', {
    data: { type: 'workspaces', attributes: { name } },
  })
  return data.id
}

describe.skipIf(!hasBrowser)('repositories', () => {
  test('a host is connected by token, a repository chosen, and a push explained and replayed', async () => {
    const host = await startFakeGitea()
    await createWorkspace('network')
    await page.getByRole('heading', { name: 'No connections yet' }).waitFor()
    const empty = await layoutFaults(page)

    await page.getByRole('link', { name: 'New connection' }).first().click()
    await page.getByRole('radio', { name: 'Gitea and Forgejo' }).check()
    await button(page, 'Connect Gitea and Forgejo').click()
    await page.getByText('it is the address of Gitea').waitFor()
    const form = await layoutFaults(page)
    await page.getByLabel('Address').fill(host.url)
    await page.getByLabel('Token', { exact: true }).fill('gta_secret')
    await button(page, 'Connect Gitea and Forgejo').click()
    await page.getByText('mona').waitFor()
    await button(page, 'Test').click()
    await page.getByText('The host accepts the token of mona.').waitFor()
    const connected = await layoutFaults(page)
    const connection = new URL(page.url()).pathname.split('/').at(-1)

    await openTab(page, server, 'network', '/settings/repository')
    await page.getByLabel('Connection').selectOption({ index: 1 })
    await button(page, 'Select repository').click()
    await page.getByPlaceholder('acme/network').fill('stor')
    await page.getByRole('option', { name: 'acme/storage' }).waitFor()
    await page.getByPlaceholder('acme/network').fill('netw')
    await page.getByRole('option', { name: 'acme/network' }).click()
    await page.getByRole('textbox', { name: 'Branch' }).fill('stable')
    await page.getByLabel('Only when files in directories change').check()
    await page.getByRole('textbox', { name: 'Directories' }).fill('modules')
    const settings = await layoutFaults(page)
    await region(page, 'Repository').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'acme/network' }).waitFor()
    await expect.poll(() => host.asked()).toContain('POST /api/v1/repos/acme/network/hooks')
    await page.getByText('webhook created').waitFor()
    const inUse = await layoutFaults(page)
    await page.goto(`${server.url}/app/main/workspaces/network`)
    await page.getByText('The workspace follows acme/network, branch stable.').waitFor()
    const beforeFirstRun = await layoutFaults(page)
    await button(page, 'Start first run').click()
    await page.getByText('The configuration is fetched from acme/network, branch stable.').waitFor()
    const status = await host.deliver(push())

    await openTab(page, server, 'network', '/deliveries')
    await page.getByText('the workspace follows the branch stable').waitFor()
    await page.getByText(SHA.pushed.slice(0, 8)).first().waitFor()
    const explained = await layoutFaults(page)
    await page.getByRole('link', { name: 'push to main' }).click()
    await page.getByRole('button', { name: 'push to main' }).waitFor()
    await page.getByText('the workspace follows the branch stable').waitFor()
    const opened = await layoutFaults(page)
    await server.api('PATCH', `/workspaces/${await idOf('network')}`, {
      data: {
        type: 'workspaces',
        attributes: {
          'queue-all-runs': true,
          'file-triggers-enabled': false,
          'trigger-prefixes': [],
          'vcs-repo': { branch: '' },
        },
      },
    })
    await button(page, 'Replay').click()
    await page.getByText('1 run', { exact: true }).waitFor()
    const { data: deliveries } = await server.api('GET', '/organizations/main/vcs-deliveries')
    const run = await latestRunOf('network')

    await openTab(page, server, 'network', '/deliveries')
    await page.getByText('(replay)').waitFor()
    const statuses = region(page, 'Commit statuses')
    await statuses.getByRole('button', { name: 'response 404' }).first().click()
    await statuses.getByText(`/statuses/${SHA.pushed}`).waitFor()
    const reported = await layoutFaults(page)
    await statuses.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('The status is sent again').waitFor()
    await expect.poll(() => statuses.getByRole('listitem').count()).toBeGreaterThan(1)
    await page.goto(`${server.url}/app/main/workspaces/network/runs/${run.id}`)
    await page.getByRole('heading', { name: 'Add a subnet for the database' }).waitFor()
    await page.getByText(SHA.pushed.slice(0, 8)).first().waitFor()
    await page.getByText('via push to main').waitFor()
    const shownRun = await layoutFaults(page)

    expect(status).toBe(202)
    expect([empty, form, connected, settings, inUse, beforeFirstRun].flat()).toEqual([])
    expect([explained, opened, reported, shownRun].flat()).toEqual([])
    expect(deliveries.map(({ attributes }: { attributes: { source: string } }) => attributes.source)).toEqual([
      'replay',
      'webhook',
    ])
    expect(connection).toMatch(/^oc-/)
    expect(JSON.stringify(await server.api('GET', `/oauth-clients/${connection}`))).not.toContain('gta_secret')
    expect(faults).toEqual([])
  }, 300_000)

  test('a connection is replaced and deleted, and its workspaces lose their repository', async () => {
    await open('/connections', 'Connections')
    await page.getByRole('link', { name: 'Gitea and Forgejo' }).click()
    await page.getByRole('navigation', { name: 'Connection' }).getByRole('link', { name: 'Settings' }).click()
    await page.getByLabel('Name (optional)').fill('Work')
    await region(page, 'General').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Work', level: 1 }).waitFor()
    const found = await layoutFaults(page)
    await button(page, 'Delete connection').click()
    await page.getByText('1 workspace loses its repository').waitFor()
    await page.getByLabel('Type Work to confirm').fill('Work')
    await button(page, 'Delete connection').click()
    await page.getByRole('heading', { name: 'No connections yet' }).waitFor()
    const { data } = await server.api('GET', '/organizations/main/workspaces/network')
    await openTab(page, server, 'network', '/deliveries')
    await page.getByText('the workspace follows the branch stable').waitFor()
    const replays = await button(page, 'Replay').count()

    expect(data.attributes['vcs-repo']).toBeNull()
    expect(replays).toBe(0)
    expect(found).toEqual([])
    expect(faults).toEqual([])
  })

  test('the webhook of a git server is set up by hand, with a secret that is shown once', async () => {
    await open('/connections/new?host=git', 'New connection')
    await page.getByLabel('Address').fill('https://git.example.com/srv')
    await page.getByLabel('Username (optional)').fill('deploy')
    await page.getByLabel('Token (optional)').fill('a password')
    await button(page, 'Connect a git server').click()
    await page.getByRole('heading', { name: 'Git server at git.example.com/srv', level: 1 }).waitFor()
    await page.getByText('Not tested').waitFor()
    await page.getByRole('navigation', { name: 'Connection' }).getByRole('link', { name: 'Events' }).click()
    await page.getByText('in the last 30 days').waitFor()
    await page.getByRole('navigation', { name: 'Connection' }).getByRole('link', { name: 'Settings' }).click()
    await page.getByText('If empty, the stored one is kept.').waitFor()
    await openTab(page, server, 'network', '/settings/repository')
    await page.getByLabel('Connection').selectOption({ label: 'Git server at git.example.com/srv' })
    await page.getByRole('textbox', { name: 'Repository' }).fill('acme/network.git')
    await region(page, 'Repository').getByRole('button', { name: 'Save' }).click()
    const url = await region(page, 'the webhook URL').textContent()
    const pullRequests = await page.getByLabel('Plan pull requests').count()
    const links = await page.getByRole('link', { name: 'acme/network.git' }).count()
    await open('/connections', 'Connections')
    await page.getByRole('link', { name: 'Git server' }).click()
    await button(page, 'Actions for acme/network.git').click()
    await page.getByRole('menuitem', { name: 'New webhook secret' }).click()
    await button(page, 'Replace secret').click()
    const secret = (await region(page, 'the secret').textContent())?.trim() ?? ''
    const found = await layoutFaults(page)
    const body = JSON.stringify({ ref: 'refs/heads/main', before: '0'.repeat(40), after: 'a'.repeat(40) })
    const response = await fetch(url?.trim() ?? '', {
      method: 'POST',
      headers: { 'x-groundstate-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` },
      body,
    })

    expect([pullRequests, links]).toEqual([0, 0])
    expect(secret).toMatch(/^[0-9a-f]{64}$/)
    expect(response.status).toBe(202)
    expect(found).toEqual([])
    expect(faults).toEqual([])
  })

  test('a host that does not answer is named, and asked again only by the user', async () => {
    const host = await startFakeGitea()
    const searches: ServerResponse[] = []
    const search = 'GET /api/v1/repos/search'
    host.reply(search, () => (response) => void searches.push(response))
    await createConnection({
      name: 'Slow Gitea',
      'service-provider': 'gitea',
      'http-url': host.url,
      'oauth-token-string': 'gta_secret',
    })

    const dialog = await openNewWorkspace()
    await dialog.getByLabel('Connection').selectOption({ label: 'Slow Gitea' })
    await button(page, 'Select repository').click()
    await page.getByText(`${new URL(host.url).host} has not answered yet`).waitFor()
    const waiting = await accessFaults(page)
    for (const response of searches) response.writeHead(500).end()
    const refusal = await page.getByRole('alert').textContent()
    const problem = await dialog.getByText('could not be reached since').textContent()
    const asked = host.asked().filter((route) => route === search).length
    const failed = await accessFaults(page)
    host.reply(search, { body: { ok: true, data: [repository()] } })
    await button(page, 'Try again').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('option', { name: 'acme/network' }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.getByLabel('Connection').waitFor()

    expect(refusal).toContain(new URL(host.url).host)
    expect(problem).not.toMatch(/\d{4}-\d\d-\d\dT/)
    expect(asked).toBe(1)
    expect([waiting, failed].flat()).toEqual([])
    expect(faults).toEqual([])
  })

  test('a repository that cannot be read is a problem on the pages of its workspace', async () => {
    const host = await startFakeHost()
    await createConnection({ name: 'Empty host', 'service-provider': 'git', 'http-url': host.url })

    const dialog = await openNewWorkspace()
    await dialog.getByLabel('Connection').selectOption({ label: 'Empty host' })
    await dialog.getByRole('textbox', { name: 'Repository' }).fill('acme/missing.git')
    await dialog.getByRole('button', { name: 'Create workspace' }).click()
    await page.getByRole('dialog', { name: 'missing was created' }).waitFor()
    await dialog.getByText('errored').waitFor()
    await dialog.getByRole('link', { name: 'Settings › Repository' }).waitFor()
    const created = await layoutFaults(page)
    await dialog.getByRole('link', { name: 'Open missing' }).click()
    await page.getByRole('link', { name: 'Settings › Repository' }).waitFor()
    const overview = await layoutFaults(page)
    await openTab(page, server, 'missing', '/deliveries')
    await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor()
    const hints = await page.getByText('Push a commit').count()
    await page.getByRole('link', { name: 'Settings › Repository' }).click()
    await page.getByRole('region', { name: 'In use' }).waitFor()

    expect(hints).toBe(0)
    expect([created, overview].flat()).toEqual([])
    expect(faults).toEqual([])
  })

  test('an SSH key is added, renamed, selected in a workspace and deleted', async () => {
    await open('/settings/ssh-keys', 'SSH keys')
    await page.getByRole('heading', { name: 'No SSH keys yet' }).waitFor()
    const empty = await layoutFaults(page)
    await button(page, 'New SSH key').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('modules')
    await dialog.getByLabel('Private key').fill('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGyYxm')
    await dialog.getByRole('button', { name: 'Create SSH key' }).click()
    const refusal = await dialog.getByRole('alert').textContent()
    await dialog.getByLabel('Private key').fill(KEY)
    await dialog.getByRole('button', { name: 'Create SSH key' }).click()
    await page.getByRole('cell', { name: 'modules', exact: true }).waitFor()
    await button(page, 'Actions for modules').click()
    await page.getByRole('menuitem', { name: 'Rename or replace' }).click()
    await dialog.getByLabel('Name').fill('shared modules')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'shared modules', exact: true }).waitFor()
    const listed = await layoutFaults(page)

    await openTab(page, server, 'network', '/settings/repository')
    await page.getByRole('combobox', { name: 'SSH key' }).selectOption({ label: 'shared modules' })
    await region(page, 'SSH key').getByRole('button', { name: 'Save' }).click()
    await page.getByText('SSH key saved').waitFor()
    const { data: workspace } = await server.api('GET', '/organizations/main/workspaces/network')
    await open('/settings/ssh-keys', 'SSH keys')
    await button(page, 'Actions for shared modules').click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await button(page, 'Delete shared modules').click()
    await page.getByRole('heading', { name: 'No SSH keys yet' }).waitFor()

    expect(refusal).toContain('it is a public key')
    expect(workspace.relationships['ssh-key'].data).not.toBeNull()
    expect([...empty, ...listed]).toEqual([])
    expect(faults).toEqual([])
  })

  test('a member sees connections, but connects nothing', async () => {
    await createMember(server, 'grace', { workspaceId: await idOf('network'), access: 'read' })

    const member = await openPageOf(server, 'grace', '/app/main/connections')
    const memberFaults = watchFaults(member)
    await member.getByRole('link', { name: 'Git server' }).waitFor()
    const mayCreate = await member.getByRole('link', { name: 'New connection' }).count()
    await member.getByRole('link', { name: 'Git server' }).click()
    await member.getByText('acme/network.git').first().waitFor()
    const buttons = await member.getByRole('button', { name: /Test|Actions for/ }).count()
    await member.goto(`${server.url}/app/main/connections/new`)
    await member.getByText('requires the permission to manage connections').waitFor()

    expect([mayCreate, buttons]).toEqual([0, 0])
    expect(await layoutFaults(member)).toEqual([])
    expect(memberFaults).toEqual([])
  })

  test.skipIf(!hasTerraform)(
    'a new workspace follows a repository, and a run says that its plan is the reviewed one',
    async ({ task }) => {
      // Where the test is repeated, the first attempt has left its connection and workspace.
      const attempt = task.result?.retryCount ?? 0
      const [connection, name] = [`Team Gitea ${attempt}`, `reviewed-${attempt}`]
      const gitea = await startGitea()
      const first = gitea.repository.commit(
        { 'main.tf': 'resource "terraform_data" "network" {}\n', 'modules/README.md': '' },
        'Add the network',
      )
      await createConnection({
        name: connection,
        'service-provider': 'gitea',
        'http-url': gitea.url,
        'oauth-token-username': USER.username,
        'oauth-token-string': USER.password,
      })

      const dialog = await openNewWorkspace()
      await dialog.getByLabel('Connection').selectOption({ label: connection })
      await dialog.getByRole('button', { name: 'Select repository' }).click()
      await page.getByPlaceholder('acme/network').fill(IDENTIFIER)
      await page.getByRole('option', { name: IDENTIFIER }).click()
      await dialog.getByLabel('Working directory').focus()
      await dialog.locator('option[value=modules]').waitFor({ state: 'attached' })
      await page.keyboard.press('Escape')
      await dialog.getByText(IDENTIFIER, { exact: true }).waitFor()
      const form = await layoutFaults(page)
      await dialog.getByLabel('Name', { exact: true }).fill(name)
      await dialog.getByRole('button', { name: 'Create workspace' }).click()
      await dialog.getByText(`It follows ${IDENTIFIER}. Its first run was started`).waitFor()
      const id = await idOf(name)
      /** The only plan of a pull request, or the latest other run, once it has the status. */
      const runOf = async (kind: 'plan' | 'run', status: string) =>
        until(async () => {
          const { data } = await server.api('GET', `/workspaces/${id}/runs`)
          const latest = data.find(({ attributes }: any) => attributes['plan-only'] === (kind === 'plan'))
          if (latest?.attributes.status === 'errored') throw new Error(latest.attributes['error-message'])
          return latest?.attributes.status === status ? latest : undefined
        })
      const network = await runOf('run', 'planned')
      await server.api('POST', `/runs/${network.id}/actions/apply`, {})
      await runOf('run', 'applied')
      gitea.repository.git('checkout', '--quiet', '-b', 'database')
      gitea.repository.commit({ 'database.tf': 'resource "terraform_data" "database" {}\n' }, 'Add a database')
      gitea.repository.git('checkout', '--quiet', 'main')
      await gitea.report('opened', 'database')
      const plan = await runOf('plan', 'planned_and_finished')
      gitea.repository.git('merge', '--quiet', '--no-ff', '--message', 'Merge the database', 'database')
      const merge = gitea.repository.git('rev-parse', 'main')
      const merged = { state: 'closed', merged: true, merge_commit_sha: merge, merged_at: '2026-11-20T10:20:33Z' }
      await gitea.report('closed', 'database', merged)
      await gitea.push(first)
      const run = await runOf('run', 'planned')

      await page.goto(`${server.url}/app/main/workspaces/${name}/runs/${plan.id}`)
      await page.getByRole('heading', { name: 'Add a subnet for the database', level: 1 }).waitFor()
      await page.getByText('via pull request #7').waitFor()
      await page.getByRole('link', { name: '#7 Add a subnet for the database' }).waitFor()
      const planned = await layoutFaults(page)
      await page.goto(`${server.url}/app/main/workspaces/${name}/runs/${run.id}`)
      await page.getByText('As reviewed').waitFor()
      await page.getByRole('link', { name: 'Reviewed run' }).waitFor()
      const reviewed = await layoutFaults(page)
      await openTab(page, server, name, '/runs')
      await page.getByText('push to main').first().waitFor()
      const listed = await layoutFaults(page)

      expect([form, planned, reviewed, listed].flat()).toEqual([])
      expect(faults).toEqual([])
    },
    300_000,
  )
})

async function createConnection(attributes: object) {
  await server.api('POST', '/organizations/main/oauth-clients', { data: { type: 'oauth-clients', attributes } })
}

async function idOf(name: string): Promise<string> {
  return (await server.api('GET', `/organizations/main/workspaces/${name}`)).data.id
}

async function latestRunOf(name: string) {
  return (await server.api('GET', `/workspaces/${await idOf(name)}/runs`)).data[0]
}

const KEY = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACBsmMZhwrHzSBRUQRtWNDaVTBx4JSxHeS1Yy8MvVpCZcA==
-----END OPENSSH PRIVATE KEY-----`
