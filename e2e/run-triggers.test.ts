import { beforeAll, describe, expect, test } from 'vitest'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, HOST, terraformDirectory } from './terraform.ts'

const SOURCE = `${cloudBlock('chain-source')}
variable "used" { default = "1" }
variable "unused" { default = "1" }
output "used" { value = var.used }
output "unused" { value = var.unused }
`
const DESTINATION = `${cloudBlock('chain-destination')}
data "terraform_remote_state" "source" {
  backend = "remote"
  config = {
    hostname     = "${HOST}"
    organization = "main"
    workspaces   = { name = "chain-source" }
  }
}
locals { used = data.terraform_remote_state.source.outputs.used }
output "copy" { value = local.used }
`

describe.skipIf(!hasTerraform)('run triggers with the real engine', () => {
  let server: BootedServer
  beforeAll(async () => {
    server = await bootServer()
  })

  const workspaceId = async (name: string): Promise<string> =>
    (await server.api('GET', `/organizations/main/workspaces/${name}`)).data.id
  const update = async (id: string, attributes: object) =>
    server.api('PATCH', `/workspaces/${id}`, { data: { type: 'workspaces', attributes } })

  test('an apply triggers a dependent run only if an output it reads has changed', async () => {
    const source = await terraformDirectory(server, { 'main.tf': SOURCE })
    await source.ok(['init', '-input=false'])
    await source.ok(['apply', '-auto-approve'])
    const sourceId = await workspaceId('chain-source')
    await update(sourceId, { 'global-remote-state': true })
    const destination = await terraformDirectory(server, { 'main.tf': DESTINATION })
    await destination.ok(['init', '-input=false'])
    await destination.ok(['apply', '-auto-approve'])
    const destinationId = await workspaceId('chain-destination')
    await update(destinationId, { 'auto-apply-run-trigger': true, 'trigger-only-on-output-change': true })
    await server.api('POST', `/workspaces/${destinationId}/run-triggers`, {
      data: {
        type: 'run-triggers',
        relationships: { sourceable: { data: { type: 'workspaces', id: sourceId } } },
      },
    })
    const firingOfLastApply = async () => {
      const [run] = (await server.api('GET', `/workspaces/${sourceId}/runs`)).data
      const [firing] = (await server.api('GET', `/runs/${run.id}/trigger-chain`)).data.attributes.firings
      return firing
    }

    await source.ok(['apply', '-auto-approve', '-var=unused=2'])
    await expect.poll(async () => (await firingOfLastApply()).status, { timeout: 20_000 }).not.toBe('waiting')
    const unused = await firingOfLastApply()
    await source.ok(['apply', '-auto-approve', '-var=unused=2', '-var=used=2'])
    const newest = async () => (await server.api('GET', `/workspaces/${destinationId}/runs`)).data[0].attributes
    await expect.poll(newest, { timeout: 30_000 }).toMatchObject({ source: 'tfe-run-trigger', status: 'applied' })

    expect(unused).toMatchObject({ status: 'skipped', reason: expect.stringContaining('outputs unchanged') })
    expect(await firingOfLastApply()).toMatchObject({ status: 'fired' })
    expect((await destination.ok(['output', '-raw', 'copy'])).out).toBe('2')
  }, 180_000)
})
