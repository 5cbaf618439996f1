import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, type Directory, terraformDirectory } from './terraform.ts'

/** The system's Node, older than that of this repository; the package must run on it. */
const SYSTEM_NODE = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => existsSync(path))
if (SYSTEM_NODE === undefined) console.warn('SKIPPED: this system has no Node to install the agent with')

const PACKAGE = join(import.meta.dirname, '../agent/dist/groundstate-agent.tgz')
if (!existsSync(PACKAGE)) execFileSync(process.execPath, [join(import.meta.dirname, '../scripts/build-agent.mjs')])

const systemPath = `/usr/local/bin:/usr/bin:/bin`

/** Installs the package that the server serves, without network or npm cache. */
async function installAgent(server: BootedServer): Promise<string> {
  const prefix = await mkdtemp(join(tmpdir(), 'groundstate-agent-'))
  atEnd(() => rm(prefix, { recursive: true, force: true }))
  const response = await fetch(`${server.url}/agent/groundstate-agent.tgz`)
  expect(response.status).toBe(200)
  const file = join(prefix, 'groundstate-agent.tgz')
  await writeFile(file, Buffer.from(await response.arrayBuffer()))
  const cache = join(prefix, 'cache')
  execFileSync('npm', ['install', '-g', '--offline', '--prefix', prefix, '--cache', cache, file], {
    env: { PATH: systemPath, HOME: prefix },
    stdio: 'ignore',
  })
  return join(prefix, 'bin/groundstate-agent')
}

describe.skipIf(!hasTerraform || SYSTEM_NODE === undefined)('the installed agent', () => {
  let server: BootedServer
  let program: string
  let token: string
  let poolId: string
  beforeAll(async () => {
    server = await bootServer({ GROUNDSTATE_AGENTS: '0' })
    program = await installAgent(server)
    const pool = { data: { type: 'agent-pools', attributes: { name: 'elsewhere' } } }
    poolId = (await server.api('POST', '/organizations/main/agent-pools', pool)).data.id
    const body = { data: { type: 'authentication-tokens', attributes: { description: 'the rack' } } }
    token = (await server.api('POST', `/agent-pools/${poolId}/authentication-tokens`, body)).data.attributes.token
  })

  test('has the health check of its image', async () => {
    const dockerfile = await readFile(join(import.meta.dirname, '../deploy/image/agent.Dockerfile'), 'utf8')
    const [, path = ''] = /^HEALTHCHECK .*"\/usr\/local\/(lib\/.+?)"/m.exec(dockerfile) ?? []

    // The image installs the package below /usr/local.
    expect(existsSync(join(program, '../..', path))).toBe(true)
    expect(path).toContain('health')
  })

  async function startAgent(...args: string[]) {
    const workDir = await mkdtemp(join(tmpdir(), 'groundstate-agent-'))
    const agent = spawn(program, ['--work-dir', workDir, '--engine-downloads', 'off', ...args], {
      env: { PATH: systemPath, HOME: workDir, TFC_ADDRESS: server.url, TFC_AGENT_TOKEN: token, TFC_AGENT_NAME: 'rack' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(async () => {
      agent.kill('SIGKILL')
      await rm(workDir, { recursive: true, force: true })
    })
    return { agent, said: text(agent.stdout), exit: exitOf(agent) }
  }

  async function exitOf(agent: ChildProcess) {
    return new Promise<number | null>((resolve) => {
      agent.once('exit', (code) => resolve(code))
    })
  }

  /** A configuration whose runs execute in the pool. */
  async function directoryOf(name: string): Promise<Directory> {
    const attributes = { name, 'execution-mode': 'agent', 'agent-pool-id': poolId }
    await server.api('POST', '/organizations/main/workspaces', { data: { type: 'workspaces', attributes } })
    const directory = await terraformDirectory(server, {
      'main.tf': `${cloudBlock(name)}resource "terraform_data" "greeting" { input = "hello" }\n`,
    })
    await directory.ok(['init', '-input=false'])
    return directory
  }

  test('plans and applies on the Node of the host and exits on SIGTERM', async () => {
    const version = execFileSync(SYSTEM_NODE ?? 'node', ['--version'], { encoding: 'utf8' })
    const directory = await directoryOf('installed')
    const { agent, said, exit } = await startAgent()

    const applied = await directory.ok(['apply', '-auto-approve', '-input=false'])
    const [shown] = (await server.api('GET', `/agent-pools/${poolId}/agents`)).data
    agent.kill('SIGTERM')

    expect(version).toMatch(/^v2\d/)
    expect(applied.all).toContain('Apply complete! Resources: 1 added')
    expect(shown.attributes).toMatchObject({
      name: 'rack',
      accepts: ['plan', 'apply', 'task', 'repository', 'policy'],
      engines: expect.arrayContaining([expect.objectContaining({ product: 'terraform' })]),
    })
    expect(await exit).toBe(0)
    expect(await said).toMatch(/INFO {2}agent \d+\.\d+\.\d+ is ready agentId=\S+ name=rack pool=elsewhere/)
    expect(await said).not.toContain(token)
  })

  test('takes a single job and exits', async () => {
    const directory = await directoryOf('single')
    const { exit } = await startAgent('--single', '--accept', 'plan')

    const planned = await directory.ok(['plan', '-input=false'])

    expect(planned.all).toContain('Plan: 1 to add')
    expect(await exit).toBe(0)
    const agents = (await server.api('GET', `/agent-pools/${poolId}/agents`)).data
    expect(agents.map((shown: { attributes: { status: string } }) => shown.attributes.status)).toEqual(['exited'])
  })
})
