import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, terraformDirectory } from './terraform.ts'

const RESOURCE = `
variable "name" {
  type    = string
  default = "world"
}
resource "terraform_data" "greeting" {
  input = "hello, \${var.name}"
}
output "greeting" {
  value = terraform_data.greeting.output
}
output "secret" {
  value     = "hunter2-\${var.name}"
  sensitive = true
}
`

const FAILS = `
resource "terraform_data" "made" { input = "kept" }
resource "terraform_data" "fails" {
  input = "x"
  depends_on = [terraform_data.made]
  provisioner "local-exec" { command = "echo this-goes-wrong >&2; exit 3" }
}
`

describe.skipIf(!hasTerraform)('the cloud block in remote execution mode', () => {
  let server: BootedServer
  beforeAll(async () => {
    server = await bootServer()
  })

  test('init, plan, apply, output, show and destroy work as on HCP Terraform', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('basic') + RESOURCE })

    await directory.ok(['init', '-input=false'])
    const plan = await directory.run(['plan', '-input=false', '-detailed-exitcode'])
    const apply = await directory.ok(['apply', '-auto-approve', '-input=false'])
    const outputs = JSON.parse((await directory.ok(['output', '-json'])).out)
    const secret = await directory.ok(['output', '-raw', 'secret'])
    const again = await directory.run(['plan', '-input=false', '-detailed-exitcode'])
    const show = await directory.ok(['show'])
    const destroy = await directory.ok(['destroy', '-auto-approve', '-input=false'])

    expect(plan.all).toContain('terraform_data.greeting will be created')
    expect(plan.all).toMatch(/\n\nThe run's page is (http:\S+)\n\nTerraform v/)
    const page = await fetch(/page is (\S+)/.exec(plan.all)?.[1] ?? '')
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
    expect(plan.code).toBe(2)
    expect(apply.all).toContain('Apply complete! Resources: 1 added, 0 changed, 0 destroyed.')
    expect(outputs.greeting.value).toBe('hello, world')
    expect(outputs.secret).toMatchObject({ sensitive: true, value: 'hunter2-world' })
    expect(secret.out).toBe('hunter2-world')
    expect(again.code).toBe(0)
    expect(again.all).toContain('No changes')
    expect(show.all).toContain('hello, world')
    expect(destroy.all).toContain('1 destroyed')
  })

  test('a saved plan is shown, applied once and rejected the second time', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('saved-plan') + RESOURCE })

    await directory.ok(['init', '-input=false'])
    await directory.ok(['plan', '-out=saved.tfplan', '-input=false'])
    const show = await directory.ok(['show', 'saved.tfplan'])
    const json = JSON.parse((await directory.ok(['show', '-json', 'saved.tfplan'])).out)
    const apply = await directory.ok(['apply', '-input=false', 'saved.tfplan'])
    const second = await directory.run(['apply', '-input=false', 'saved.tfplan'])

    expect(show.all).toContain('terraform_data.greeting will be created')
    expect(json.format_version).toMatch(/^1\./)
    expect(apply.all).toContain('Apply complete! Resources: 1 added')
    expect(second.code).toBe(1)
  })

  test('applying a saved plan makes its configuration current', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('provisional') + RESOURCE })
    const read = async () => {
      const { data: workspace } = await server.api('GET', '/organizations/main/workspaces/provisional')
      const { data: versions } = await server.api('GET', `/workspaces/${workspace.id}/configuration-versions`)
      const { data: runs } = await server.api('GET', `/workspaces/${workspace.id}/runs`)
      return { current: workspace.relationships['current-configuration-version'].data?.id, version: versions[0], runs }
    }

    await directory.ok(['init', '-input=false'])
    await directory.ok(['plan', '-out=saved.tfplan', '-input=false'])
    const planned = await read()
    await directory.ok(['apply', '-input=false', 'saved.tfplan'])
    const applied = await read()

    const source = 'terraform+cloud'
    expect(planned.version.attributes).toMatchObject({ provisional: true, source, 'upload-url': null })
    expect(planned.runs[0].attributes).toMatchObject({ 'save-plan': true, source })
    expect([planned.current, applied.current]).toEqual([undefined, planned.version.id])
  })

  test('a failing plan exits with code 1 and shows the diagnostic', async () => {
    const directory = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('bad-plan')}output "x" { value = terraform_data.none.id }\n`,
    })

    await directory.ok(['init', '-input=false'])
    const plan = await directory.run(['plan', '-input=false'])

    expect(plan.code).toBe(1)
    expect(plan.all).toContain('Reference to undeclared resource')
  })

  // The CLI polls every 3 s whether its run still waits, and the apply fails within that interval.
  test.concurrent.for([0, 1000, 2000])(
    'a failing apply shows its diagnostic after a wait, %i ms',
    async (ms, { expect }) => {
      const name = `waits-${ms}`
      const directory = await terraformDirectory(server, { 'main.tf': cloudBlock(name) + FAILS })
      await directory.ok(['init', '-input=false'])
      const { data: workspace } = await server.api('GET', `/organizations/main/workspaces/${name}`)
      await server.api('POST', `/workspaces/${workspace.id}/actions/lock`, {})
      const apply = directory.start(['apply', '-auto-approve', '-input=false'])
      await apply.saw(/Waiting for the manually locked workspace/)
      await pause(9000 + ms)

      await server.api('POST', `/workspaces/${workspace.id}/actions/unlock`, {})

      const { code, all } = await apply.done
      expect(code).toBe(1)
      expect(all).toContain('this-goes-wrong')
    },
  )

  test('a failing apply exits with code 1, shows the diagnostic and keeps created resources', async () => {
    const directory = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('bad-apply')}${FAILS}`,
    })

    await directory.ok(['init', '-input=false'])
    const apply = await directory.run(['apply', '-auto-approve', '-input=false'])
    const list = await directory.ok(['state', 'list'])

    expect(apply.code).toBe(1)
    expect(apply.all).toContain('this-goes-wrong')
    expect(list.out).toContain('terraform_data.made')
    const workspace = await server.api('GET', '/organizations/main/workspaces/bad-apply')
    expect(workspace.data.attributes.locked).toBe(false)
  })
})
