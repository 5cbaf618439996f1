import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import {
  configuration,
  describeWithTerraform,
  scripted,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'
import { CLIENT, identityOf } from '../testing/identity.ts'

const AZURE = { TFC_AZURE_PROVIDER_AUTH: 'true', TFC_AZURE_RUN_CLIENT_ID: CLIENT }
const canMount = spawnSync('unshare', ['--mount', 'true']).status === 0

/** A server that logs everyone in as Vault does, and answers revocations once there are `count`. */
async function startVault(count: number): Promise<string> {
  const revocations: ServerResponse[] = []
  const server = createServer((request, response) => {
    request.resume()
    if (request.url !== '/v1/auth/token/revoke-self') {
      const auth = { client_token: `hvs.${'x'.repeat(90)}`, renewable: false, lease_duration: 1200 }
      response.end(JSON.stringify({ auth }))
      return
    }
    revocations.push(response)
    if (revocations.length === count) for (const revocation of revocations) revocation.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describeWithTerraform('the end of a phase with dynamic credentials', () => {
  test.runIf(canMount)(
    'leaves the outcome as it is if files cannot be removed',
    async () => {
      const server = await startServer()
      const workDir = await temporaryDirectory()
      // Registered after the directory, so that it runs first.
      onTestFinished(() => void spawnSync('sh', ['-c', `umount ${workDir}/runs/*/variables/identity/busy`]))
      const { logged } = await startAgent(server, { workDir, isolation: 'off', sandbox: false })
      const archive = scripted(
        'mkdir ../variables/identity/busy && mount -t tmpfs none ../variables/identity/busy && echo mounted',
      )
      const plan = server.submit({ configuration: archive, ...identityOf(AZURE, 'plan') })
      await plan.finished

      const identity = identityOf(AZURE, 'apply')
      const apply = server.submit({ kind: 'apply', runId: plan.runId, configuration: archive, ...identity })

      expect(await apply.finished).toMatchObject({ status: 'finished', exitCode: 0 })
      expect(apply.log()).toContain('mounted')
      expect(apply.log()).toContain('Warning: the files of the dynamic credentials could not be removed.')
      expect(logged).toContainEqual(
        expect.objectContaining({ level: 'error', message: 'the files of dynamic credentials could not be removed' }),
      )
    },
    60_000,
  )

  test('revokes all tokens of Vault at the same time', async () => {
    const server = await startServer()
    await startAgent(server)
    const address = await startVault(3)
    const variables = Object.fromEntries(
      ['', '_A', '_B'].flatMap((tag) => [
        [`TFC_VAULT_PROVIDER_AUTH${tag}`, 'true'],
        [`TFC_VAULT_ADDR${tag}`, address],
        [`TFC_VAULT_RUN_ROLE${tag}`, 'runs'],
      ]),
    )

    const plan = server.submit({
      configuration: configuration('output "one" { value = 1 }'),
      ...identityOf(variables, 'plan', ['vault.workload.identity']),
    })

    expect(await plan.finished).toMatchObject({ status: 'finished' })
    expect(plan.log()).not.toContain('Warning')
  }, 60_000)
})
