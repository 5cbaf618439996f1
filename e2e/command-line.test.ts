import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN_TOKEN, type BootedServer, bootServer } from './server.ts'
import { hasTerraform, terraformDirectory } from './terraform.ts'

const ROOT = join(import.meta.dirname, '..')
const BIN = join(ROOT, 'node_modules/.bin/groundstate')

type Output = { code: number; out: string; err: string }

async function groundstate(
  args: string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<Output> {
  return new Promise((resolve) => {
    execFile(
      BIN,
      args,
      {
        cwd: options.cwd ?? ROOT,
        env: { PATH: process.env['PATH'], HOME: process.env['HOME'], CHECKPOINT_DISABLE: '1', ...options.env },
      },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    )
  })
}

let server: BootedServer
let directory: string
beforeAll(async () => {
  server = await bootServer()
  directory = await mkdtemp(join(tmpdir(), 'groundstate-cli-'))
})
afterAll(async () => {
  await rm(directory, { recursive: true, force: true })
})

describe('the groundstate command', () => {
  test('every command has a help text', async () => {
    const help = await groundstate(['--help'])

    for (const command of ['serve', 'cli-config', 'exec', 'token', 'doctor', 'state']) {
      expect(help.out).toContain(command)
      expect((await groundstate([command, '--help'])).out).toContain('Usage: groundstate')
    }
  })

  test('errors name unknown flags and invalid settings', async () => {
    const flag = await groundstate(['serve', '--prot', '80'])
    const setting = await groundstate(['serve'], { env: { GROUNDSTATE_PORT: 'http' } })

    expect(flag.code).not.toBe(0)
    expect(flag.err).toContain('--prot')
    expect(setting.code).toBe(1)
    expect(setting.err).toContain('GROUNDSTATE_PORT')
    expect(setting.err).not.toContain('    at ')
  })

  test.skipIf(!hasTerraform)('exec runs the example of the README', async () => {
    const hello = join(directory, 'hello')
    await cp(join(ROOT, 'examples/hello'), hello, { recursive: true })
    const env = { GROUNDSTATE_URL: server.url, GROUNDSTATE_TOKEN: ADMIN_TOKEN }

    await groundstate(['exec', '--', 'terraform', 'init', '-no-color'], { env, cwd: hello })
    const apply = await groundstate(['exec', '--', 'terraform', 'apply', '-auto-approve', '-no-color'], {
      env,
      cwd: hello,
    })

    expect(apply.out).toContain('Apply complete! Resources: 1 added')
  })

  test('exec returns the exit code and names missing settings', async () => {
    const env = { GROUNDSTATE_URL: server.url, GROUNDSTATE_TOKEN: ADMIN_TOKEN }

    expect((await groundstate(['exec', '--', 'sh', '-c', 'exit 7'], { env })).code).toBe(7)
    expect(await groundstate(['exec', '--', 'no-such-program'], { env })).toMatchObject({ code: 127 })
    expect((await groundstate(['exec', '--', 'true'], { env: { GROUNDSTATE_URL: server.url } })).err).toContain(
      'GROUNDSTATE_TOKEN',
    )
  })

  test('token create issues a valid token while the server is running', async () => {
    const created = await groundstate([
      'token',
      'create',
      '--data-dir',
      server.dataDir,
      '--description',
      'made in a test',
    ])
    const unknown = await groundstate(['token', 'create', '--data-dir', server.dataDir, '--user', 'nobody-here'])

    const details = await server.api('GET', '/account/details', undefined, { token: created.out.trim() })
    expect(details.data.attributes.username).toBe('admin')
    expect(unknown.code).toBe(1)
    expect(unknown.err).toContain('nobody-here')
  })

  test.skipIf(!hasTerraform)('doctor finds everything in place', async () => {
    const doctor = await groundstate(['doctor', '--data-dir', server.dataDir, '--port', new URL(server.url).port])

    expect(doctor).toMatchObject({ code: 0, out: expect.stringContaining('Groundstate is running') })
  })

  test('doctor reports each problem with its remedy', async () => {
    const where = ['--data-dir', server.dataDir, '--engine-path', '/nowhere/terraform', '--port', '0']

    const doctor = await groundstate(['doctor', ...where])

    expect(doctor.code).toBe(1)
    expect(doctor.out).toContain('✗ engine')
    expect(doctor.out).toContain('GROUNDSTATE_ENGINE_PATH')
  })

  test('a second server on the same data directory exits with an error', async () => {
    const second = await groundstate(['serve', '--data-dir', server.dataDir, '--port', '0'])

    expect(second.code).toBe(1)
    expect(second.err).toContain('in use by another Groundstate server')
  })

  test('the error names a port that is in use', async () => {
    const other = await mkdtemp(join(tmpdir(), 'groundstate-port-'))

    const second = await groundstate(['serve', '--data-dir', other, '--port', new URL(server.url).port])

    expect(second.code).toBe(1)
    expect(second.err).toContain('GROUNDSTATE_PORT')
    await rm(other, { recursive: true, force: true })
  })

  test('SIGTERM stops an idle server with code 0, and its data survives the restart', async () => {
    const before = await server.api('GET', '/organizations/main')

    expect(await server.stop('SIGTERM')).toBe(0)
    await server.restart()

    expect(await server.api('GET', '/organizations/main')).toEqual(before)
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  })

  test('a killed server restarts with all its data', async () => {
    await server.stop('SIGKILL')
    await server.restart()

    expect((await server.api('GET', '/organizations/main')).data.id).toBe('main')
  })

  test('a client that stalls in the middle of a request blocks no other client', async () => {
    const { port, hostname } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    socket.write('POST /api/v2/organizations HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{')

    const response = await server.api('GET', '/organizations/main')

    expect(response.data.type).toBe('organizations')
    socket.destroy()
  })
})

describe.skipIf(!hasTerraform)('TLS=auto', () => {
  test('an unmodified terraform works over https with the local authority trusted', async () => {
    const tls = await bootServer({ GROUNDSTATE_TLS: 'auto' }).catch((error: unknown) => error)
    if (tls instanceof Error) throw tls
    const secure = tls as BootedServer
    const host = new URL(secure.url).host
    const authority = join(secure.dataDir, 'tls/ca.pem')
    const files = {
      'main.tf': `terraform {
  cloud {
    hostname     = "${host}"
    organization = "main"
    workspaces { name = "over-tls" }
  }
}
resource "terraform_data" "x" { input = 1 }
`,
    }
    const work = await terraformDirectory(secure, files)
    const config = join(work.path, 'credentials.tfrc')
    await writeFile(config, `credentials "${host}" {\n  token = "${ADMIN_TOKEN}"\n}\n`)
    const env = { SSL_CERT_FILE: authority, TF_CLI_CONFIG_FILE: config }

    const untrusted = await work.run(['init', '-input=false'], { env: { TF_CLI_CONFIG_FILE: config } })
    await work.ok(['init', '-input=false'], { env })
    const apply = await work.ok(['apply', '-auto-approve'], { env })

    expect(untrusted.code).toBe(1)
    expect(await readFile(authority, 'utf8')).toContain('BEGIN CERTIFICATE')
    expect(apply.all).toContain('1 added')
    expect(secure.output()).toContain(`export SSL_CERT_FILE=${authority}`)
    const exec = ['exec', '--url', secure.url, '--token', ADMIN_TOKEN, '--', 'terraform']
    const hello = join(work.path, 'hello')
    await cp(join(ROOT, 'examples/hello'), hello, { recursive: true })
    const trusting = { cwd: hello, env: { SSL_CERT_FILE: authority } }
    await groundstate([...exec, 'init', '-no-color'], trusting)
    const plan = await groundstate([...exec, 'plan', '-no-color'], trusting)
    const [link = ''] = /https:\S+/.exec(plan.out) ?? []
    expect(link.startsWith(`${secure.url}/app/main/hello/runs/run-`)).toBe(true)
    const where = ['--data-dir', secure.dataDir, '--tls', 'auto', '--port', new URL(secure.url).port]
    const doctor = await groundstate(['doctor', ...where])
    expect(doctor).toMatchObject({ code: 0, out: expect.stringContaining('Groundstate is running') })
  })
})
