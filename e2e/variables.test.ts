import { beforeAll, describe, expect, test } from 'vitest'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, terraformDirectory } from './terraform.ts'

const CONFIGURATION = `
variable "v" {
  type    = string
  default = "default"
}
variable "object" {
  type    = any
  default = null
}
output "v" { value = var.v }
output "object" { value = var.object }
`

let server: BootedServer
beforeAll(async () => {
  if (hasTerraform) server = await bootServer()
})

async function workspaceId(name: string) {
  return (await server.api('GET', `/organizations/main/workspaces/${name}`)).data.id as string
}

async function setVariable(workspace: string, attributes: Record<string, unknown>) {
  await server.api('POST', `/workspaces/${await workspaceId(workspace)}/vars`, {
    data: { type: 'vars', attributes: { category: 'terraform', ...attributes } },
  })
}

describe.skipIf(!hasTerraform)('variables of a remote run', () => {
  test('each source overrides the previous one, in the documented order', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock('order') + CONFIGURATION })
    await directory.ok(['init', '-input=false'])
    const applied = async (...args: string[]) => {
      await directory.ok(['apply', '-auto-approve', ...args])
      return (await directory.ok(['output', '-raw', 'v'])).out
    }
    const set = async (name: string, value: string, priority: boolean) =>
      server.api('POST', '/organizations/main/varsets', {
        data: {
          type: 'varsets',
          attributes: { name, global: true, priority },
          relationships: { vars: { data: [{ type: 'vars', attributes: { key: 'v', value, category: 'terraform' } }] } },
        },
      })

    expect(await applied()).toBe('default')
    await directory.write({ 'terraform.tfvars': 'v = "tfvars"\n' })
    expect(await applied()).toBe('tfvars')
    await directory.write({ 'x.auto.tfvars': 'v = "auto"\n' })
    expect(await applied()).toBe('auto')
    const plain = await set('plain', 'set', false)
    expect(await applied()).toBe('set')
    await setVariable('order', { key: 'v', value: 'workspace' })
    expect(await applied()).toBe('workspace')
    expect(await applied('-var', 'v=command line')).toBe('command line')
    const priority = await set('priority', 'priority', true)
    expect(await applied('-var', 'v=command line')).toBe('priority')
    await server.api('DELETE', `/varsets/${plain.data.id}`)
    await server.api('DELETE', `/varsets/${priority.data.id}`)
  })

  test('a literal reaches the engine unchanged, HCL is evaluated', async () => {
    const literal = 'a "quoted" ${not.a.template} %{ if x }\nnext line \\ é'
    const directory = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('literal')}variable "text" { type = string }\nvariable "list" { type = list(number) }\noutput "text" { value = var.text }\noutput "sum" { value = sum(var.list) }\n`,
    })
    await directory.ok(['init', '-input=false'])
    await setVariable('literal', { key: 'text', value: literal })
    await setVariable('literal', { key: 'list', value: '[1, 2, 3]', hcl: true })

    await directory.ok(['apply', '-auto-approve'])

    const outputs = JSON.parse((await directory.ok(['output', '-json'])).out)
    expect(outputs.text.value).toBe(literal)
    expect(outputs.sum.value).toBe(6)
  })

  test('environment variables reach the engine, the server’s own do not', async () => {
    const directory = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('environment')}
resource "terraform_data" "env" {
  provisioner "local-exec" { command = "env | sort" }
}
`,
    })
    await directory.ok(['init', '-input=false'])
    await setVariable('environment', { key: 'MY_SETTING', value: 'visible', category: 'env' })

    const apply = await directory.ok(['apply', '-auto-approve'])

    expect(apply.all).toContain('MY_SETTING=visible')
    expect(apply.all).not.toContain('GROUNDSTATE_')
  })

  test('-var-file and TF_VAR_ of the caller are variables of the run', async () => {
    const directory = await terraformDirectory(server, {
      'main.tf': cloudBlock('caller') + CONFIGURATION,
      'my.tfvars': 'object = { a = 1 }\n',
    })
    await directory.ok(['init', '-input=false'])

    await directory.ok(['apply', '-auto-approve', '-var-file=my.tfvars'])
    const fromFile = JSON.parse((await directory.ok(['output', '-json', 'object'])).out)
    await directory.ok(['apply', '-auto-approve'], { env: { TF_VAR_v: 'from the environment' } })
    const fromEnvironment = (await directory.ok(['output', '-raw', 'v'])).out

    expect(fromFile).toEqual({ a: 1 })
    expect(fromEnvironment).toBe('from the environment')
  })

  test('a sensitive variable is used but never shown', async () => {
    const directory = await terraformDirectory(server, {
      'main.tf': `${cloudBlock('sensitive')}variable "password" {\n  type = string\n  sensitive = true\n}\nresource "terraform_data" "uses" { input = var.password }\n`,
    })
    await directory.ok(['init', '-input=false'])
    await setVariable('sensitive', { key: 'password', value: 'correct-horse', sensitive: true })

    const apply = await directory.ok(['apply', '-auto-approve'])
    const vars = await server.api('GET', `/workspaces/${await workspaceId('sensitive')}/vars`)

    expect(apply.all).not.toContain('correct-horse')
    expect(vars.data[0].attributes.value).toBeNull()
    expect((await directory.ok(['state', 'pull'])).out).toContain('correct-horse')
  })
})
