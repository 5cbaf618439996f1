import { createHash } from 'node:crypto'
import type { BootedServer } from './server.ts'

const LINEAGE = '8c6a3f0e-1f5c-4c2f-9d54-0d5c9f6f2a11'

type StoredResource = {
  name: string
  attributes: Record<string, unknown>
  /** The address of its module; undefined for the root. */
  module?: string
  /** Names of attributes. */
  sensitive?: readonly string[]
  isTainted?: boolean
}

/** A state in the engine's format. */
export function rawState({
  serial,
  resources,
  outputs = {},
}: {
  serial: number
  resources: readonly StoredResource[]
  outputs?: Record<string, { value: unknown; type: unknown; sensitive?: boolean }>
}) {
  const state = {
    version: 4,
    terraform_version: '1.11.4',
    serial,
    lineage: LINEAGE,
    outputs,
    resources: resources.map(({ name, attributes, module, sensitive = [], isTainted = false }) => ({
      ...(module !== undefined && { module }),
      mode: 'managed',
      type: 'terraform_data',
      name,
      provider: 'provider["terraform.io/builtin/terraform"]',
      instances: [
        {
          schema_version: 0,
          ...(isTainted && { status: 'tainted' }),
          attributes: { id: name, ...attributes },
          sensitive_attributes: sensitive.map((value) => [{ type: 'get_attr', value }]),
        },
      ],
    })),
    check_results: null,
  }
  return Buffer.from(`${JSON.stringify(state, null, 2)}\n`)
}

/** Stores a state in a workspace as a CLI does: uploaded under a lock. Returns the id of the version. */
export async function storeState(server: BootedServer, workspaceId: string, raw: Buffer<ArrayBuffer>): Promise<string> {
  const { serial, lineage } = JSON.parse(raw.toString())
  const md5 = createHash('md5').update(raw).digest('hex')
  await server.api('POST', `/workspaces/${workspaceId}/actions/lock`, {})
  const { data } = await server.api('POST', `/workspaces/${workspaceId}/state-versions`, {
    data: { type: 'state-versions', attributes: { serial, lineage, md5 } },
  })
  const upload = await fetch(data.attributes['hosted-state-upload-url'], {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: raw,
  })
  if (!upload.ok) throw new Error(`the upload of a state returned ${upload.status}`)
  await server.api('POST', `/workspaces/${workspaceId}/actions/unlock`, {})
  return data.id
}

/** A workspace without runs, for states from elsewhere. */
export async function localWorkspace(server: BootedServer, name: string, organization = 'main'): Promise<string> {
  const { data } = await server.api('POST', `/organizations/${organization}/workspaces`, {
    data: { type: 'workspaces', attributes: { name, 'execution-mode': 'local' } },
  })
  return data.id
}
