import { expect, test } from 'vitest'
import { USER } from '../agent/src/testing/git-server.ts'
import * as bodies from '../server/src/vcs-hosts/gitea/testing/bodies.ts'
import { IDENTIFIER, startGitea } from './gitea.ts'
import { logOf, until } from './run-progress.ts'
import { bootServer } from './server.ts'
import { HOST, cloudBlock, hasTerraform, terraformDirectory } from './terraform.ts'

const CONFIGURATION = `
variable "password" { default = "nothing" }
variable "token" { default = "nothing" }
variable "region" { default = "nothing" }
output "seen" { value = "password \${var.password}, token \${var.token}, region \${var.region}" }
`
const READS_OTHERS = `
data "terraform_remote_state" "shared" {
  backend = "remote"
  config = {
    hostname     = "${HOST}"
    organization = "main"
    workspaces   = { name = "shared" }
  }
}
output "shared" { value = data.terraform_remote_state.shared.outputs }
`

test.skipIf(!hasTerraform)('a pull request from a fork is planned without secrets, by the real engine', async () => {
  const server = await bootServer()
  const gitea = await startGitea()
  gitea.repository.commit({ 'main.tf': 'output "start" { value = 1 }' }, 'Start')
  const post = async (path: string, type: string, attributes: object) =>
    (await server.api('POST', path, { data: { type, attributes } })).data
  const client = await post('/organizations/main/oauth-clients', 'oauth-clients', {
    'service-provider': 'gitea',
    'http-url': gitea.url,
    'oauth-token-username': USER.username,
    'oauth-token-string': USER.password,
    'fork-plans-enabled': true,
  })
  const { id } = await post('/organizations/main/workspaces', 'workspaces', {
    name: 'network',
    'queue-all-runs': true,
    'vcs-repo': { identifier: IDENTIFIER, 'oauth-token-id': client.relationships['oauth-tokens'].data[0].id },
  })
  const variables = [
    { key: 'password', value: 'hunter2', category: 'terraform', sensitive: true },
    { key: 'TF_VAR_token', value: 'hunter3', category: 'env', sensitive: true },
    { key: 'region', value: 'eu', category: 'terraform' },
  ]
  for (const variable of variables) await post(`/workspaces/${id}/vars`, 'vars', variable)
  const shared = await terraformDirectory(server, {
    'main.tf': `${cloudBlock('shared')}output "key" { value = "hunter4" }`,
  })
  await shared.ok(['init', '-input=false'])
  await shared.ok(['apply', '-auto-approve'])
  const { data: sharing } = await server.api('GET', '/organizations/main/workspaces/shared')
  const attributes = { 'global-remote-state': true }
  await server.api('PATCH', `/workspaces/${sharing.id}`, { data: { type: 'workspaces', attributes } })
  await until(async () => gitea.webhooks.length === 1)

  /** The plan of a commit from a fork or from the repository itself, once it has ended, with its log. */
  async function plan(action: string, files: Record<string, string>, isFork = true) {
    gitea.repository.git('checkout', '--quiet', '-B', 'topic')
    const sha = gitea.repository.commit(files)
    gitea.repository.git('checkout', '--quiet', 'main')
    const { head } = bodies.pullRequest()
    const fork = { ...head, sha, repo_id: 141, repo: bodies.repository('mallory/network', 141) }
    await gitea.report(action, 'topic', { head: isFork ? fork : { ...head, sha } })
    const run = await until(async () => {
      const { data } = await server.api('GET', `/workspaces/${id}/runs?filter[operation]=plan_only`)
      const [newest] = data
      const isOwn = newest && newest.id !== known
      return isOwn && ['planned_and_finished', 'errored'].includes(newest.attributes.status) ? newest : undefined
    })
    known = run.id
    const { data: events } = await server.api('GET', `/runs/${run.id}/run-events`)
    const descriptions: string[] = events.map((event: any) => event.attributes.description ?? '')
    return { status: run.attributes.status, log: await logOf(server, run.id, 'plan'), descriptions }
  }
  let known = ''

  const fork = await plan('opened', { 'main.tf': CONFIGURATION })
  const own = await plan('synchronized', { 'main.tf': `${CONFIGURATION}\n` }, false)
  const curious = await plan('synchronized', { 'main.tf': CONFIGURATION + READS_OTHERS })
  const trusted = await plan('synchronized', { 'main.tf': `${CONFIGURATION}\n${READS_OTHERS}` }, false)

  expect(fork.status).toBe('planned_and_finished')
  expect(fork.log).toContain('password nothing, token nothing, region eu')
  expect(fork.descriptions.join('\n')).toContain('planned without 2 sensitive variables')
  expect(own.log).toContain('password hunter2, token hunter3, region eu')
  expect(curious.status).toBe('errored')
  expect(curious.log).not.toContain('hunter')
  expect(trusted.log).toContain('hunter4')
})
