import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, HOST, remoteBackend, terraformDirectory } from './terraform.ts'

const TWO = `
resource "terraform_data" "one" { input = "1" }
resource "terraform_data" "two" { input = "2" }
output "one" { value = terraform_data.one.output }
output "list" { value = ["a", "b"] }
`

let server: BootedServer
beforeAll(async () => {
  if (hasTerraform) server = await bootServer()
})

describe.skipIf(!hasTerraform)('options of plan and apply', () => {
  test('-target limits what is planned', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('target') + TWO })
    await directory.ok(['init', '-input=false'])

    const apply = await directory.ok(['apply', '-auto-approve', '-target=terraform_data.one'])

    expect(apply.all).toContain('1 added')
    expect((await directory.ok(['state', 'list'])).out.trim()).toBe('terraform_data.one')
  })

  test('-replace recreates a resource', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('replace') + TWO })
    await directory.ok(['init', '-input=false'])
    await directory.ok(['apply', '-auto-approve'])

    const apply = await directory.ok(['apply', '-auto-approve', '-replace=terraform_data.one'])

    expect(apply.all).toContain('1 added, 0 changed, 1 destroyed')
  })

  test('-refresh-only reports no changes for an unchanged state', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('refresh-only') + TWO })
    await directory.ok(['init', '-input=false'])
    await directory.ok(['apply', '-auto-approve'])

    const plan = await directory.ok(['plan', '-refresh-only'])

    expect(plan.all).toContain('No changes')
  })

  test('answering no discards the run', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('discard') + TWO })
    await directory.ok(['init', '-input=false'])

    const apply = await directory.run(['apply'], { input: 'no\n' })

    expect(apply.code).toBe(1)
    const { data } = await server.api('GET', '/organizations/main/workspaces/discard')
    const runs = await server.api('GET', `/workspaces/${data.id}/runs`)
    expect(runs.data[0].attributes.status).toBe('discarded')
    expect(data.attributes.locked).toBe(false)
  })

  test('answering yes applies the plan', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('confirm') + TWO })
    await directory.ok(['init', '-input=false'])

    const apply = await directory.ok(['apply'], { input: 'yes\n' })

    expect(apply.all).toContain('Apply complete! Resources: 2 added')
  })

  test('a change of outputs alone is applied', async () => {
    const directory = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('outputs-only')}output "x" { value = "first" }\n`,
    })
    await directory.ok(['init', '-input=false'])
    await directory.ok(['apply', '-auto-approve'])
    await directory.write({ 'main.tf': `${cloudBlock('outputs-only')}output "x" { value = "second" }\n` })

    await directory.ok(['apply', '-auto-approve'])

    expect((await directory.ok(['output', '-raw', 'x'])).out).toBe('second')
  })

  test('a moved block alone is applied', async () => {
    const moved =
      'moved {\n  from = terraform_data.old\n  to = terraform_data.new\n}\nresource "terraform_data" "new" { input = 1 }\n'
    const directory = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('moved')}resource "terraform_data" "old" { input = 1 }\n`,
    })
    await directory.ok(['init', '-input=false'])
    await directory.ok(['apply', '-auto-approve'])
    await directory.write({ 'main.tf': cloudBlock('moved') + moved })

    await directory.ok(['apply', '-auto-approve'])

    expect((await directory.ok(['state', 'list'])).out.trim()).toBe('terraform_data.new')
  })

  test('configuration is generated for an import block', async () => {
    const directory = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('generate')}import {\n  to = terraform_data.imported\n  id = "an-id"\n}\n`,
    })
    await directory.ok(['init', '-input=false'])

    await directory.run(['plan', '-generate-config-out=generated.tf'])

    expect(await readFile(join(directory.path, 'generated.tf'), 'utf8')).toContain(
      'resource "terraform_data" "imported"',
    )
  })

  test('a second run of the workspace waits and names the run it waits for', async () => {
    const slow = `${cloudBlock('two-at-once')}resource "terraform_data" "slow" {\n  input = timestamp()\n  provisioner "local-exec" { command = "sleep 6" }\n}\n`
    const first = await terraformDirectory(server, { 'main.tf': slow })
    const second = await terraformDirectory(server, { 'main.tf': slow })
    await first.ok(['init', '-input=false'])
    await second.ok(['init', '-input=false'])

    const running = first.start(['apply', '-auto-approve'])
    await running.saw('local-exec')
    const waiting = second.start(['apply', '-auto-approve'])
    await waiting.saw(/Waiting for .*run/i)
    const { data: workspace } = await server.api('GET', '/organizations/main/workspaces/two-at-once')
    const runs = await server.api('GET', `/workspaces/${workspace.id}/runs`)

    expect(runs.data[0].attributes.status).toBe('pending')
    expect(runs.data[0].attributes['waiting-reason']).toContain(runs.data[1].id)
    expect((await running.done).code).toBe(0)
    expect((await waiting.done).code).toBe(0)
  })
})

describe.skipIf(!hasTerraform)('state commands', () => {
  test('list, show, mv, rm, pull and push', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('state') + TWO })
    await directory.ok(['init', '-input=false'])
    await directory.ok(['apply', '-auto-approve'])

    expect((await directory.ok(['state', 'list'])).out.trim().split('\n')).toEqual([
      'terraform_data.one',
      'terraform_data.two',
    ])
    expect((await directory.ok(['state', 'show', 'terraform_data.one'])).out).toContain('"1"')
    await directory.ok(['state', 'mv', 'terraform_data.one', 'terraform_data.renamed'])
    await directory.ok(['state', 'rm', 'terraform_data.two'])
    const pulled = (await directory.ok(['state', 'pull'])).out
    const state = JSON.parse(pulled)
    expect(state.resources.map((resource: { name: string }) => resource.name)).toEqual(['renamed'])

    await directory.write({ 'edited.tfstate': JSON.stringify({ ...state, serial: state.serial + 1 }) })
    await directory.ok(['state', 'push', 'edited.tfstate'])
    await directory.write({ 'old.tfstate': JSON.stringify({ ...state, serial: 1 }) })
    const stale = await directory.run(['state', 'push', 'old.tfstate'])

    expect(JSON.parse((await directory.ok(['state', 'pull'])).out).serial).toBeGreaterThan(state.serial)
    expect(stale.code).toBe(1)

    // `terraform` does not send -force to the server, and keeps its lock when it is rejected.
    const forced = await directory.run(['state', 'push', '-force', 'old.tfstate'])
    expect(forced.all).toMatch(/serial \d+ is behind the current serial/)
    await directory.ok(['force-unlock', '-force', 'main/state'])
    await directory.write({ 'raised.tfstate': JSON.stringify({ ...state, serial: state.serial + 5 }) })
    await directory.ok(['state', 'push', 'raised.tfstate'])
  })

  test('taint, untaint, import, console and force-unlock', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('state-more') + TWO })
    await directory.ok(['init', '-input=false'])
    await directory.ok(['apply', '-auto-approve', '-target=terraform_data.one'])

    await directory.ok(['taint', 'terraform_data.one'])
    expect((await directory.ok(['plan'])).all).toContain('is tainted')
    await directory.ok(['untaint', 'terraform_data.one'])
    await directory.ok(['import', 'terraform_data.two', 'imported-id'])
    expect((await directory.ok(['console'], { input: 'terraform_data.one.output\n' })).out).toContain('"1"')

    const { data } = await server.api('GET', '/organizations/main/workspaces/state-more')
    await server.api('POST', `/workspaces/${data.id}/actions/lock`, { reason: 'maintenance' })
    const locked = await directory.run(['state', 'rm', 'terraform_data.two'])
    expect(locked.code).toBe(1)
    await directory.ok(['force-unlock', '-force', 'main/state-more'])
    await directory.ok(['state', 'rm', 'terraform_data.two'])
  })

  test('output: all, one, json and raw; none in an empty workspace', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('outputs') + TWO })
    await directory.ok(['init', '-input=false'])

    expect((await directory.ok(['output', '-json'])).out.trim()).toBe('{}')
    await directory.ok(['apply', '-auto-approve'])
    expect((await directory.ok(['output'])).out).toContain('one = "1"')
    expect((await directory.ok(['output', '-raw', 'one'])).out).toBe('1')
    expect(JSON.parse((await directory.ok(['output', '-json', 'list'])).out)).toEqual(['a', 'b'])
  })
})

describe.skipIf(!hasTerraform)('workspaces', () => {
  test('new, list, select and delete under the tags mapping', async () => {
    const block = `terraform {\n  cloud {\n    hostname = "${HOST}"\n    organization = "main"\n    workspaces { tags = ["app", "e2e"] }\n  }\n}\n`
    const directory = await terraformDirectory(server, {
      'main.tf': `${block}output "w" { value = terraform.workspace }\n`,
    })
    await directory
      .ok(['init', '-input=false'], { input: 'tagged-a\n', env: { TF_WORKSPACE: '' } })
      .catch(async () => directory.run(['init'], { input: 'tagged-a\n' }))

    await directory.ok(['workspace', 'new', 'tagged-b'])
    await directory.ok(['apply', '-auto-approve'])
    expect((await directory.ok(['output', '-raw', 'w'])).out).toBe('tagged-b')
    await directory.ok(['workspace', 'new', 'tagged-c'])
    await directory.ok(['workspace', 'select', 'tagged-b'])
    const list = await directory.ok(['workspace', 'list'])
    await directory.ok(['workspace', 'delete', 'tagged-c'])

    expect(list.out).toContain('* tagged-b')
    expect(list.out).toContain('tagged-c')
    expect((await directory.ok(['workspace', 'list'])).out).not.toContain('tagged-c')
  })

  test('terraform.workspace is the name of the workspace', async () => {
    const directory = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('named')}output "w" { value = terraform.workspace }\n`,
    })
    await directory.ok(['init', '-input=false'])
    await directory.ok(['apply', '-auto-approve'])

    expect((await directory.ok(['output', '-raw', 'w'])).out).toBe('named')
  })

  test('terraform_remote_state reads another workspace', async () => {
    const source = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('rs-source')}output "shared" { value = "from the source" }\n`,
    })
    await source.ok(['init', '-input=false'])
    await source.ok(['apply', '-auto-approve'])
    const { data } = await server.api('GET', '/organizations/main/workspaces/rs-source')
    const reader = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('rs-reader')}
data "terraform_remote_state" "source" {
  backend = "remote"
  config = {
    hostname     = "${HOST}"
    organization = "main"
    workspaces   = { name = "rs-source" }
  }
}
output "read" { value = data.terraform_remote_state.source.outputs.shared }
`,
    })
    await reader.ok(['init', '-input=false'])

    const refused = await reader.run(['apply', '-auto-approve'])
    await server.api('PATCH', `/workspaces/${data.id}`, {
      data: { type: 'workspaces', attributes: { 'global-remote-state': true } },
    })
    await reader.ok(['apply', '-auto-approve'])

    expect(refused.code).toBe(1)
    expect((await reader.ok(['output', '-raw', 'read'])).out).toBe('from the source')
  })

  test('local state is migrated by init', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': TWO })
    await directory.ok(['init', '-input=false'])
    await directory.ok(['apply', '-auto-approve'])
    const before = JSON.parse(await readFile(join(directory.path, 'terraform.tfstate'), 'utf8'))
    await directory.write({ 'cloud.tf': cloudBlock('migrated') })

    await directory.ok(['init'], { input: 'yes\n' })

    const after = JSON.parse((await directory.ok(['state', 'pull'])).out)
    expect(after.resources).toEqual(before.resources)
    expect((await stat(join(directory.path, 'terraform.tfstate')).catch(() => ({ size: 0 }))).size).toBe(0)
  })
})

describe.skipIf(!hasTerraform)('backend "remote"', () => {
  test('plan, apply with a human log, output and destroy', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': remoteBackend('remote-backend') + TWO })
    await directory.ok(['init', '-input=false'])

    const plan = await directory.ok(['plan'])
    const apply = await directory.ok(['apply', '-auto-approve'])
    const output = await directory.ok(['output', '-raw', 'one'])
    const destroy = await directory.ok(['destroy', '-auto-approve'])

    expect(plan.all).toContain('terraform_data.one will be created')
    expect(plan.all).not.toContain('{"@level"')
    expect(apply.all).toContain('Apply complete! Resources: 2 added')
    expect(output.out).toBe('1')
    expect(destroy.all).toContain('2 destroyed')
  })
})
