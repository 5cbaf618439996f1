import { expect, test } from 'vitest'
import { USER } from '../agent/src/testing/git-server.ts'
import { IDENTIFIER, startGitea } from './gitea.ts'
import { until } from './run-progress.ts'
import { bootServer } from './server.ts'
import { supervise } from './supervisor.ts'
import { HOST, hasTerraform, terraformDirectory } from './terraform.ts'

const output = (value: string) => `output "version" {\n  value = "${value}"\n}\n`
const configuration = (version: string) =>
  `module "network" {\n  source  = "${HOST}/main/network/aws"\n  version = "${version}"\n}\noutput "version" {\n  value = module.network.version\n}\n`

test.skipIf(!hasTerraform)(
  'a pushed tag is published once although the server is killed, and terraform installs it',
  { timeout: 300_000 },
  async () => {
    const server = await bootServer()
    const gitea = await startGitea()
    gitea.repository.commit({ 'modules/network/main.tf': output('first'), 'README.md': 'all modules' })
    gitea.repository.git('tag', 'network-v1.0.0')
    const client = await server.api('POST', '/organizations/main/oauth-clients', {
      data: {
        type: 'oauth-clients',
        attributes: {
          'service-provider': 'gitea',
          'http-url': gitea.url,
          'oauth-token-username': USER.username,
          'oauth-token-string': USER.password,
        },
      },
    })
    const [token] = client.data.relationships['oauth-tokens'].data
    const module = await server.api('POST', '/organizations/main/registry-modules/vcs', {
      data: {
        type: 'registry-modules',
        attributes: {
          name: 'network',
          provider: 'aws',
          'vcs-repo': {
            identifier: IDENTIFIER,
            'oauth-token-id': token.id,
            tags: true,
            'tag-prefix': 'network-',
            'source-directory': 'modules/network',
          },
        },
      },
    })
    const versions = async () => {
      const path = '/organizations/main/registry-modules/private/main/network/aws'
      const found = await server.api('GET', path).catch(() => undefined)
      const statuses: { version: string; status: string }[] = found?.data.attributes['version-statuses'] ?? []
      return statuses.map(({ version, status }) => `${version} ${status}`)
    }
    await until(async () => gitea.webhooks.length === 1 && (await versions()).includes('1.0.0 ok'))
    await using supervised = supervise(server)

    gitea.repository.commit({ 'modules/network/main.tf': output('second') })
    gitea.repository.git('tag', 'network-v1.1.0')
    await gitea.tag('network-v1.1.0')
    supervised.kill()
    // The version can be installed before its publication has ended.
    const publications = await until(async () => {
      const found = await server.api('GET', `/registry-modules/${module.data.id}/publications`).catch(() => undefined)
      const [latest] = found?.data ?? []
      return latest?.attributes.version === '1.1.0' && latest.attributes.status !== 'pending' && found
    })
    const directory = await terraformDirectory(server, { 'main.tf': configuration('~> 1.0') })
    await directory.ok(['init'])
    await directory.ok(['apply', '-auto-approve'])
    const installed = await directory.ok(['output', '-raw', 'version'])

    expect(installed.out).toContain('second')
    expect(publications.data.map(({ attributes }: any) => [attributes.version, attributes.status])).toEqual([
      ['1.1.0', 'published'],
      ['1.0.0', 'published'],
    ])
    expect(gitea.unexpected).toEqual([])
  },
)
