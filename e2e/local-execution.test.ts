import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, type Directory, hasTerraform, remoteBackend, terraformDirectory } from './terraform.ts'

const CONFIGURATION = `
variable "name" { default = "world" }
resource "terraform_data" "one" { input = "hello, \${var.name}" }
resource "terraform_data" "two" { input = "2" }
output "greeting" { value = terraform_data.one.output }
output "secret" {
  value     = "hunter2"
  sensitive = true
}
`

let server: BootedServer
beforeAll(async () => {
  if (hasTerraform) server = await bootServer()
})

/** A configuration whose workspace is in local execution mode. */
async function localWorkspace(name: string, backend: string, configuration = CONFIGURATION): Promise<Directory> {
  await server.api('POST', '/organizations/main/workspaces', {
    data: { type: 'workspaces', attributes: { name, 'execution-mode': 'local' } },
  })
  const directory = await terraformDirectory(server, { 'main.tf': backend + configuration })
  await directory.ok(['init', '-input=false'])
  return directory
}

async function readWorkspace(name: string) {
  return (await server.api('GET', `/organizations/main/workspaces/${name}`)).data
}

describe.skipIf(!hasTerraform).each([
  ['the cloud block', 'cloud', cloudBlock],
  ['backend "remote"', 'remote', remoteBackend],
] as const)('%s in local execution mode', (_, prefix, block) => {
  test('plans, applies and destroys locally and keeps its state on the server', async () => {
    const name = `${prefix}-local`
    const directory = await localWorkspace(name, block(name))

    const plan = await directory.run(['plan', '-detailed-exitcode', '-out=saved.tfplan', '-var', 'name=moon'])
    const show = await directory.ok(['show', 'saved.tfplan'])
    await directory.ok(['apply', 'saved.tfplan'])
    const again = await directory.run(['plan', '-detailed-exitcode', '-var', 'name=moon'])
    const outputs = JSON.parse((await directory.ok(['output', '-json'])).out)
    const secret = await directory.ok(['output', '-raw', 'secret'])
    const replace = await directory.ok([
      'apply',
      '-auto-approve',
      '-replace=terraform_data.two',
      '-target=terraform_data.two',
    ])
    const refresh = await directory.ok(['plan', '-refresh-only'])
    const { id } = await readWorkspace(name)
    const runs = await server.api('GET', `/workspaces/${id}/runs`)
    const destroy = await directory.ok(['destroy', '-auto-approve'])

    expect(plan.code).toBe(2)
    expect(show.all).toContain('hello, moon')
    expect(again.code).toBe(0)
    expect(outputs).toMatchObject({ greeting: { value: 'hello, moon' }, secret: { sensitive: true, value: 'hunter2' } })
    expect(secret.out).toBe('hunter2')
    expect(replace.all).toContain('1 added, 0 changed, 1 destroyed')
    expect(refresh.all).toContain('No changes')
    expect(runs.data).toEqual([])
    expect(destroy.all).toContain('2 destroyed')
    expect(existsSync(join(directory.path, 'terraform.tfstate'))).toBe(false)
    expect((await readWorkspace(name)).attributes.locked).toBe(false)
  })

  test('import, console and generated configuration work on that state', async () => {
    const name = `${prefix}-local-more`
    const directory = await localWorkspace(name, block(name))

    await directory.ok(['import', 'terraform_data.two', 'an-id'])
    const list = await directory.ok(['state', 'list'])
    const inner = await directory.ok(['console'], { input: 'terraform_data.two.id\n' })
    await directory.write({ 'import.tf': 'import {\n  to = terraform_data.three\n  id = "another-id"\n}\n' })
    await directory.run(['plan', '-generate-config-out=generated.tf'])

    expect(list.out.trim()).toBe('terraform_data.two')
    expect(inner.out).toContain('an-id')
    expect(await readFile(join(directory.path, 'generated.tf'), 'utf8')).toContain('"terraform_data" "three"')
    expect((await readWorkspace(name)).attributes.locked).toBe(false)
  })

  test('holds the lock while it runs; a second one is rejected, and a failed apply keeps created resources', async () => {
    const name = `${prefix}-local-lock`
    const gate = join(server.dataDir, `${prefix}-gate`)
    const slow = `
resource "terraform_data" "made" { input = "kept" }
resource "terraform_data" "fails" {
  depends_on = [terraform_data.made]
  provisioner "local-exec" { command = "while [ ! -e ${gate} ]; do sleep 0.1; done; exit 3" }
}
`
    const directory = await localWorkspace(name, block(name), slow)

    const running = directory.start(['apply', '-auto-approve'])
    await running.saw('local-exec')
    const second = await directory.run(['plan'])
    await writeFile(gate, '')
    const failed = await running.done

    expect(second.code).toBe(1)
    expect(second.all).toContain('workspace already locked')
    expect(failed.code).toBe(1)
    expect((await directory.ok(['state', 'list'])).out).toContain('terraform_data.made')
    expect((await readWorkspace(name)).attributes.locked).toBe(false)
  })
})
