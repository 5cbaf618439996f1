import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BootedServer } from './server.ts'

export type RemoteWorkspace = { id: string; name: string; configurationId: string }

/** The archive of a configuration of one file. */
function archive(configuration: string) {
  const directory = mkdtempSync(join(tmpdir(), 'groundstate-archive-'))
  try {
    writeFileSync(join(directory, 'main.tf'), configuration)
    execFileSync('tar', ['-czf', join(directory, 'a.tgz'), '-C', directory, 'main.tf'])
    return readFileSync(join(directory, 'a.tgz'))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/**
 * A configuration with instances 1 to `n`, its variable. Each run creates one more, so an instance that is created twice, or with another
 * id, was lost. `content` is added to the resource.
 */
export function countingConfiguration(content = '') {
  return `
variable "n" {
  type    = number
  default = 0
}
resource "terraform_data" "x" {
  for_each = toset([for index in range(var.n) : tostring(index + 1)])
  input    = each.key
  ${content}
}
output "n" { value = var.n }
`
}

/** A workspace with a configuration, ready for runs that start through the API. */
export async function remoteWorkspace(
  server: BootedServer,
  {
    name,
    configuration,
    attributes = {},
    organization = 'main',
  }: { name: string; configuration: string; attributes?: object; organization?: string },
): Promise<RemoteWorkspace> {
  const { data } = await server.api('POST', `/organizations/${organization}/workspaces`, {
    data: { type: 'workspaces', attributes: { name, ...attributes } },
  })
  const version = await server.api('POST', `/workspaces/${data.id}/configuration-versions`, {
    data: { type: 'configuration-versions', attributes: { 'auto-queue-runs': false } },
  })
  const upload = await fetch(version.data.attributes['upload-url'], {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: new Uint8Array(archive(configuration)),
  })
  if (!upload.ok) throw new Error(`the upload of a configuration returned ${upload.status}`)
  return { id: data.id, name, configurationId: version.data.id }
}

/** A pool of agents of the organization, and the text of a token for them. */
export async function agentPool(server: BootedServer, name: string): Promise<{ id: string; token: string }> {
  const { data } = await server.api('POST', '/organizations/main/agent-pools', {
    data: { type: 'agent-pools', attributes: { name } },
  })
  const token = await server.api('POST', `/agent-pools/${data.id}/authentication-tokens`, {
    data: { type: 'authentication-tokens', attributes: { description: name } },
  })
  return { id: data.id, token: token.data.attributes.token }
}

/** Creates an auto-applied run and returns its id. */
export async function startRun(
  server: BootedServer,
  { id, configurationId }: RemoteWorkspace,
  attributes: object = {},
): Promise<string> {
  const { data } = await server.api('POST', '/runs', {
    data: {
      type: 'runs',
      attributes: { 'auto-apply': true, ...attributes },
      relationships: {
        workspace: { data: { type: 'workspaces', id } },
        'configuration-version': { data: { type: 'configuration-versions', id: configurationId } },
      },
    },
  })
  return data.id
}

/** All resources of a list, read page by page. */
export async function listAll(server: BootedServer, path: string): Promise<any[]> {
  const found: any[] = []
  for (let page: number | null = 1; page !== null;) {
    const separator = path.includes('?') ? '&' : '?'
    const response: any = await server.api('GET', `${path}${separator}page%5Bsize%5D=100&page%5Bnumber%5D=${page}`)
    found.push(...response.data)
    page = response.meta.pagination['next-page']
  }
  return found
}
