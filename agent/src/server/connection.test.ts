import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  ONE_RESOURCE,
  configuration,
  describeWithTerraform,
  startAgent,
  startServer,
  temporaryDirectory,
} from '../testing/agent-fixture.ts'
import { makeCertificate } from '../testing/certificate.ts'
import { openConnection, send } from './connection.ts'
import { jobClient } from './job-client.ts'

test('an https address of a server without TLS gives a hint', async () => {
  const server = await startServer()
  const serverUrl = server.url.replace('http:', 'https:')

  const agent = await startAgent(server, { serverUrl })

  await expect
    .poll(() => agent.logged)
    .toContainEqual(
      expect.objectContaining({
        message: 'retrying a request',
        facts: {
          server: serverUrl,
          reason: expect.stringMatching(
            /^POST \/register: the TLS handshake failed: [a-z ]+: the server does not use TLS: write http:[^\n]+$/,
          ),
        },
      }),
    )
})

test('an address of another program ends the agent with a message', async () => {
  const server = await startServer()
  const other = createServer((_, response) => void response.setHeader('content-type', 'text/html').end('<html>welcome'))
  await once(other.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void other.close())
  const { port } = other.address() as AddressInfo

  const agent = await startAgent(server, { serverUrl: `http://127.0.0.1:${port}` })

  await expect(agent.ended).rejects.toThrow(
    `http://127.0.0.1:${port} is no Groundstate server: it responded to a registration with 200 (text/html)`,
  )
})

test('an error page of a proxy is not a contact with the server', async () => {
  const proxy = createServer((_, response) => response.writeHead(403, { 'content-type': 'text/html' }).end('blocked'))
  onTestFinished(() => void proxy.close())
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const connection = openConnection(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, undefined, () => {})

  const { statusCode } = await send(connection, {
    method: 'POST',
    path: '/claim',
    token: 'token',
    signal: AbortSignal.timeout(5000),
  })

  expect([statusCode, connection.contactedAt]).toEqual([403, undefined])
})

test('an unreachable server is retried with a warning', async () => {
  const server = await startServer()
  await server.pause()
  const agent = await startAgent(server)
  await expect
    .poll(() => agent.logged)
    .toContainEqual(expect.objectContaining({ level: 'warn', message: 'retrying a request' }))

  await server.resume()

  await expect.poll(() => server.claims(), { timeout: 5_000 }).toBe(1)
  expect(agent.logged).toContainEqual(expect.objectContaining({ message: 'reconnected to the server' }))
})

test('a server behind a proxy is reached through it', async () => {
  const server = await startServer()
  const requestUrls: string[] = []
  const proxy = createServer((incoming, outgoing) => {
    requestUrls.push(incoming.url ?? '')
    const { pathname } = new URL(incoming.url ?? '')
    const { method, headers } = incoming
    const onward = request(`${server.url}${pathname}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
  onTestFinished(() => void vi.unstubAllEnvs())

  await startAgent(server, { serverUrl: 'http://groundstate.invalid' })

  await expect.poll(() => server.claims(), { timeout: 5_000 }).toBe(1)
  expect(requestUrls[0]).toBe('http://groundstate.invalid/api/agent/v1/register')
})

describeWithTerraform('an agent', () => {
  test('and its engine trust the configured authority', async () => {
    const { file, ...tls } = await makeCertificate('IP:127.0.0.1')
    const server = await startServer(tls)
    await startAgent(server, { caFile: file })

    const planned = await server.submit({ configuration: configuration(ONE_RESOURCE) }).finished

    expect(planned.status).toBe('finished')
  })

  test('does not lose a job when the server restarts', async () => {
    const server = await startServer()
    const agent = await startAgent(server)
    const signs = await temporaryDirectory()
    // Accessible to the user of the run.
    await chmod(signs, 0o711)
    const release = join(signs, 'release')
    const archive = configuration(`resource "terraform_data" "a" {
      provisioner "local-exec" { command = "echo waiting$((0)); until test -e ${release}; do sleep 0.05; done; echo released" }
    }`)
    await server.submit({ runId: 'run-a', configuration: archive }).finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: archive })
    await apply.logged(/waiting0/)

    await server.pause()
    await expect.poll(() => agent.logged).toContainEqual(expect.objectContaining({ message: 'retrying a request' }))
    await server.resume()
    spawn('touch', [release])
    const applied = await apply.finished

    expect(applied.status).toBe('finished')
    expect(apply.log()).toMatch(/waiting[^]*released[^]*Apply complete/)
  })
})

describe('an uploaded file', () => {
  async function upload(content: string, size: number) {
    const server = await startServer()
    const job = server.submit({ configuration: configuration('') })
    const file = join(await temporaryDirectory(), 'plan')
    await writeFile(file, content)
    const connection = openConnection(server.url, undefined, () => {})
    onTestFinished(() => connection.dispatcher.close())
    const client = jobClient(connection, { id: job.id, token: 'job-token-1' })
    await client.putArtifact('plan-file', { file, size }, AbortSignal.timeout(5_000))
    return job.artifacts.get('plan-file')?.toString()
  }

  test('that grows is sent with the size that it had', async () => {
    expect(await upload('plan and more', 4)).toBe('plan')
  })

  test('that becomes shorter is not sent again and again', async () => {
    await expect(upload('pl', 4)).rejects.toThrow(/artifacts\/plan-file became shorter during its upload/)
  })
})
