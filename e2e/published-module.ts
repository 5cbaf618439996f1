import { archiveOf } from '../server/src/testing/archives.ts'
import type { BootedServer } from './server.ts'
import { HOST } from './terraform.ts'

/** Publishes versions of the module `greeting/null`, which has no resources. */
export async function publishGreeting(server: BootedServer, versions: readonly string[]) {
  const attributes = { name: 'greeting', provider: 'null' }
  await server.api('POST', '/organizations/main/registry-modules', { data: { type: 'registry-modules', attributes } })
  for (const version of versions) {
    const body = { data: { type: 'registry-module-versions', attributes: { version } } }
    const { data } = await server.api('POST', '/registry-modules/main/greeting/null/versions', body)
    await putFile(data.links.upload, archiveOf({ 'main.tf': 'output "text" {\n  value = "hello"\n}\n' }))
  }
}

/** Uploads to a signed URL. */
export async function putFile(url: string, body: Buffer) {
  const headers = { 'content-type': 'application/octet-stream' }
  const response = await fetch(url, { method: 'PUT', body: new Uint8Array(body), headers })
  if (response.status !== 200) throw new Error(`PUT ${url} answered ${response.status}: ${await response.text()}`)
}

/** A configuration with the module, of a version that the constraint permits. */
export function greeting(constraint: string) {
  return `module "greeting" {
  source  = "${HOST}/main/greeting/null"
  version = "${constraint}"
}
output "text" {
  value = module.greeting.text
}
`
}
