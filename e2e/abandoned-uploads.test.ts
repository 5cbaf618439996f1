import { connect } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { freePort } from '../server/src/testing/ports.ts'
import { createTcpProxy } from '../server/src/testing/tcp-proxy.ts'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, terraformDirectory } from './terraform.ts'

/**
 * A proxy that stalls in the middle of the first state upload. The engine sends the state's
 * JSON at the same time, often first; that upload passes, since only the state itself finalizes a version.
 */
async function stickyWay() {
  const upload = Promise.withResolvers<void>()
  const port = await freePort()
  let isStuck = false
  const open = () => connect(port, '127.0.0.1')
  const proxyPort = await createTcpProxy(open, (client, target) => {
    target.pipe(client)
    client.on('data', (data: Buffer) => {
      const begin = isStuck ? -1 : data.toString('latin1').search(/PUT \/_objects\/\S+-raw-upload/)
      const bodyAt = begin === -1 ? -1 : data.indexOf('\r\n\r\n', begin)
      if (bodyAt === -1) return void target.write(data)
      isStuck = true
      client.pause()
      target.write(data.subarray(0, bodyAt + 20), () => upload.resolve())
      return undefined
    })
  })
  return {
    url: `http://127.0.0.1:${proxyPort}`,
    /** Port for the server to listen on. */
    port,
    upload: upload.promise,
  }
}

let server: BootedServer
let way: Awaited<ReturnType<typeof stickyWay>>

beforeAll(async () => {
  if (!hasTerraform) return
  way = await stickyWay()
  server = await bootServer({ GROUNDSTATE_BASE_URL: way.url }, { port: way.port })
})

test.skipIf(!hasTerraform)(
  'a workspace whose client was killed in the middle of an upload is free after a forced unlock',
  async () => {
    const name = 'abandoned'
    const { data } = await server.api('POST', '/organizations/main/workspaces', {
      data: { type: 'workspaces', attributes: { name, 'execution-mode': 'local' } },
    })
    const configuration = 'resource "terraform_data" "one" { input = "kept" }\n'
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock(name) + configuration })
    await directory.ok(['init', '-input=false'])

    const killed = directory.start(['apply', '-auto-approve', '-input=false'])
    await way.upload
    killed.child.kill('SIGKILL')
    await killed.done
    const refused = await server.api('POST', `/workspaces/${data.id}/actions/unlock`, {}, { expect: 422 })
    await directory.ok(['force-unlock', '-force', `main/${name}`])
    await directory.ok(['apply', '-auto-approve', '-input=false'])

    expect(refused.errors[0].detail).toContain('latest state version is still pending')
    const query = `filter%5Borganization%5D%5Bname%5D=main&filter%5Bworkspace%5D%5Bname%5D=${name}`
    const versions = (await server.api('GET', `/state-versions?${query}`)).data
    expect(versions.map((version: any) => version.attributes.status)).toEqual(['finalized', 'discarded'])
    const { attributes } = (await server.api('GET', `/workspaces/${data.id}`)).data
    expect(attributes).toMatchObject({ locked: false, 'resource-count': 1 })
  },
)
