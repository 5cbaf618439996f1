import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listEngines } from './engine.ts'
import {
  configuration,
  describeWithTerraform,
  type Logged,
  ONE_RESOURCE,
  startAgent,
  startServer,
  temporaryFolder,
} from './testing/agent-fixture.ts'
import { processIsAlive } from './testing/processes.ts'
import { AGENT_TOKEN } from './testing/protocol-server.ts'

const WAITING = configuration(`resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo pid=$$; exec sleep 300" }
}`)

test('a claim waits at the server for every free slot', async () => {
  const server = await startServer()

  await startAgent(server, { concurrency: 3 })

  await expect.poll(() => server.claims()).toBe(3)
})

test('a token that the server refuses ends the agent', async () => {
  const server = await startServer()

  const agent = await startAgent(server, { token: 'wrong' })

  await expect(agent.ended).rejects.toThrow('answered 401')
})

test('a token that is revoked later ends the agent as well, and it says what to do', async () => {
  const server = await startServer()
  const agent = await startAgent(server)
  await expect.poll(() => server.claims()).toBe(1)

  server.refuseAgents(401)

  await expect(agent.ended).rejects.toThrow('it refuses the token. Make a new one for the agent pool')
})

test.each([401, 403, 404, 409])('a %d of a proxy to its claims does not end an agent', async (status) => {
  const server = await startServer()
  const refused = { claim: 0, 'claim-task': 0 }
  server.refuse(({ verb }) => {
    if (verb !== 'claim' && verb !== 'claim-task') return undefined
    return (refused[verb] += 1) < 3 ? status : undefined
  })

  const agent = await startAgent(server)

  await expect.poll(() => [server.claims(), server.tasks.claims()]).toEqual([1, 1])
  expect(server.registrations()).toBe(1)
  expect(agent.logged.filter(({ level }) => level === 'error')).toEqual([])
})

test('a 401 of a proxy to a registration that is not the first does not end an agent', async () => {
  const server = await startServer()
  let introductions = 0
  server.refuse(({ verb }) => (verb === 'register' && (introductions += 1) === 2 ? 401 : undefined))
  await startAgent(server, { againMs: 20, lookMs: 20 })
  await expect.poll(() => server.claims()).toBe(1)

  server.refuseAgents(409, 'forgotten')
  await expect.poll(() => introductions).toBeGreaterThan(1)
  server.refuseAgents(undefined)

  await expect.poll(() => server.claims()).toBe(1)
})

test('a token that is refused when it claims run tasks ends the agent with the same words', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { accepts: ['task'] })
  await expect.poll(() => server.tasks.claims()).toBe(1)

  server.refuseAgents(401)
  server.tasks.endClaims()

  await expect(agent.ended).rejects.toThrow('it refuses the token. Make a new one for the agent pool')
})

test('an agent that the plan has no room for waits for it, and says why once', async () => {
  const server = await startServer()
  server.refuseAgents(422, 'the organization acme has the free plan')
  const agent = await startAgent(server, { againMs: 20, lookMs: 20 })
  const refusals = () => agent.logged.filter(({ message }) => message.includes('refuses this agent'))
  await expect.poll(refusals).toHaveLength(1)
  await delay(200)

  server.refuseAgents(undefined)

  await expect.poll(() => server.claims()).toBe(1)
  expect(refusals()).toEqual([
    expect.objectContaining({
      level: 'warn',
      facts: expect.objectContaining({
        reason: 'the server answered 422 to POST /register: the organization acme has the free plan',
      }),
    }),
  ])
})

test('an agent that was forgotten and is refused then says so once, and returns', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { againMs: 20, lookMs: 20, accepts: ['plan', 'task'], concurrency: 2 })
  await expect.poll(() => server.claims()).toBe(2)
  const messages = () => agent.logged.map(({ message }) => message)

  server.refuseAgents(409, 'later')
  server.tasks.endClaims()
  await delay(200)
  server.refuseAgents(undefined)

  await expect.poll(messages, { timeout: 5_000 }).toContain('the server takes this agent again')
  expect(messages().filter((message) => message.includes('refuses this agent'))).toHaveLength(1)
})

test('a folder that cannot be used is named with its setting', async () => {
  const server = await startServer()

  const agent = await startAgent(server, { workDir: '/dev/null/work' })

  await expect(agent.ended).rejects.toThrow('--work-dir /dev/null/work: this user cannot work there')
})

test('an engine path that is not there is mentioned', async () => {
  const server = await startServer()

  const agent = await startAgent(server, { enginePath: '/nowhere' })

  await expect
    .poll(() => agent.logged.map(({ message }) => message))
    .toContainEqual(expect.stringContaining('--engine-path /nowhere: there is no such file or folder'))
})

test('an address with https of a server without TLS is explained', async () => {
  const server = await startServer()
  const serverUrl = server.url.replace('http:', 'https:')

  const agent = await startAgent(server, { serverUrl })

  await expect
    .poll(() => agent.logged)
    .toContainEqual(
      expect.objectContaining({
        message: 'request is sent again',
        facts: { server: serverUrl, reason: expect.stringContaining(`speaks no TLS: write ${server.url}`) },
      }),
    )
})

test('an agent without an engine takes no runs, but run tasks, until there is one', async () => {
  vi.stubEnv('PATH', '/nowhere')
  onTestFinished(() => void vi.unstubAllEnvs())
  const server = await startServer()
  const enginePath = await temporaryFolder()
  const agent = await startAgent(server, { enginePath, waitsForEngine: true, lookMs: 50 })
  await expect.poll(() => server.tasks.claims()).toBe(1)
  await expect.poll(() => server.registrations()).toBeGreaterThan(1)
  expect(server.claims()).toBe(0)
  expect(server.registered[0]?.accepts).toEqual(['task'])

  await writeFile(join(enginePath, 'tofu'), '#!/bin/sh\necho "OpenTofu v9.9.9"; echo "on linux_amd64"\n', {
    mode: 0o755,
  })

  await expect.poll(() => server.claims(), { timeout: 10_000 }).toBe(1)
  await expect
    .poll(() => server.registered.at(-1), { timeout: 10_000 })
    .toMatchObject({ accepts: ['plan', 'apply', 'task'], engines: [{ version: '9.9.9' }] })
  expect(agent.logged.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('no run is taken without one'),
  )
})

test('an address where something else answers is named', async () => {
  const server = await startServer()
  const other = createServer((_, response) => void response.setHeader('content-type', 'text/html').end('<html>welcome'))
  await once(other.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void other.close())
  const { port } = other.address() as AddressInfo

  const agent = await startAgent(server, { serverUrl: `http://127.0.0.1:${port}` })

  await expect(agent.ended).rejects.toThrow(
    `http://127.0.0.1:${port} is no Groundstate server: it answered 200 with text/html to a registration`,
  )
})

test('a server that is away is waited for, and that is said', async () => {
  const server = await startServer()
  await server.pause()
  const agent = await startAgent(server)
  await expect
    .poll(() => agent.logged)
    .toContainEqual(expect.objectContaining({ level: 'warn', message: 'request is sent again' }))

  await server.resume()

  await expect.poll(() => server.claims(), { timeout: 5_000 }).toBe(1)
  expect(agent.logged).toContainEqual(expect.objectContaining({ message: 'connected again' }))
})

test('a server behind a proxy is reached through it', async () => {
  const server = await startServer()
  const asked: string[] = []
  const proxy = createServer((incoming, outgoing) => {
    asked.push(incoming.url ?? '')
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
  expect(asked[0]).toBe('http://groundstate.invalid/api/agent/v1/register')
})

test('an agent says who it is, and what it can do', async () => {
  const server = await startServer()

  const agent = await startAgent(server, { name: 'rack-7', concurrency: 3, accepts: ['plan', 'task'] })
  await expect.poll(() => server.claims()).toBe(3)

  expect(server.registered).toEqual([
    {
      name: 'rack-7',
      version: '1.0.0',
      os: platform(),
      arch: arch(),
      concurrency: 3,
      downloadsEngines: false,
      accepts: ['plan', 'task'],
      starts: true,
      engines: await listEngines({ enginePath: undefined, strict: false }),
    },
  ])
  expect(agent.logged[0]).toMatchObject({
    message: 'agent 1.0.0 is ready',
    facts: { name: 'rack-7', pool: 'rack', server: server.url },
  })
})

test('an agent says so when another engine has appeared', async () => {
  const server = await startServer()
  const enginePath = await temporaryFolder()
  await startAgent(server, { enginePath, lookMs: 50 })
  await expect.poll(() => server.claims()).toBe(1)

  await mkdir(join(enginePath, '9.9.9'))
  await writeFile(join(enginePath, '9.9.9/tofu'), "#!/bin/sh\nprintf 'OpenTofu v9.9.9\\non linux_amd64\\n'\n", {
    mode: 0o755,
  })

  await expect
    .poll(() => server.registered.at(-1), { timeout: 10_000 })
    .toMatchObject({ agentId: 'agent-1', engines: expect.arrayContaining([{ product: 'tofu', version: '9.9.9' }]) })
})

test('an agent that takes no runs claims none, and waits for its end', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { accepts: ['task'] })
  await expect.poll(() => agent.logged.map(({ message }) => message)).toContain('agent 1.0.0 is ready')

  expect(server.claims()).toBe(0)
  agent.stop()
  await agent.ended
  expect(server.deregistered).toEqual(['agent-1'])
})

test('an agent for a single job ends after it, whatever became of the job', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { single: true })
  const job = server.submit({ configuration: configuration(''), engine: { product: 'tofu', version: '1.0.0' } })

  expect((await job.finished).status).toBe('errored')
  await agent.ended

  expect(server.claims()).toBe(0)
  const run = { kind: 'plan', runId: job.runId, workspace: 'acme/net', jobId: job.id }
  expect(agent.logged).toContainEqual({ level: 'info', message: 'job taken', facts: run })
  expect(agent.logged).toContainEqual({
    level: 'info',
    message: 'job ended',
    facts: { ...run, status: 'errored', reason: expect.stringContaining('this agent has no OpenTofu') },
  })
  expect(agent.logged.filter(({ level }) => level === 'error')).toEqual([])
})

test('an agent without work ends after its idle time', async () => {
  const server = await startServer()

  const agent = await startAgent(server, { idleTimeoutMs: 100 })

  await agent.ended
  expect(server.registrations()).toBe(1)
})

test('an agent that stops without work ends at once', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { concurrency: 2 })
  await expect.poll(() => server.claims()).toBe(2)

  agent.stop()

  await agent.ended
})

test('a job that comes to an agent as it stops is handed back', async () => {
  const server = await startServer()
  const agent = await startAgent(server)
  await expect.poll(() => server.claims()).toBe(1)

  agent.stop()
  const job = server.submit({ configuration: configuration('') })

  await job.released
  await agent.ended
})

test('a job that the server has given to another before it arrived does not begin', async () => {
  const server = await startServer()
  const workDir = await temporaryFolder()
  const agent = await startAgent(server, { workDir })
  await expect.poll(() => server.claims()).toBe(1)
  const job = server.submit({ kind: 'apply', configuration: configuration(ONE_RESOURCE) })
  job.loseLease()
  const says = () => agent.logged.some(({ message }) => message === 'job left to others: it has not begun here')

  await expect.poll(says).toBe(true)

  // After a pause: what kept the server from hearing of the agent may keep on.
  await expect.poll(() => server.claims(), { timeout: 5_000 }).toBe(1)
  expect(job.log()).toBe('')
  expect(await readdir(join(workDir, 'jobs'))).toEqual([])
})

test('a second agent in the same working folder is refused', async () => {
  const server = await startServer()
  const { workDir } = await startAgent(server)
  await expect.poll(() => server.claims()).toBe(1)

  const second = await startAgent(server, { workDir })

  await expect(second.ended).rejects.toThrow('is used by another agent')
})

test('an agent that starts again in its folder names the id that it had, to the same server', async () => {
  const server = await startServer()
  const other = await startServer()
  const first = await startAgent(server)
  await expect.poll(() => server.claims()).toBe(1)
  const { workDir } = first
  const { mode } = await stat(join(workDir, 'registration.json'))
  first.stop()
  await first.ended

  const again = await startAgent(server, { workDir })
  await expect.poll(() => server.registrations()).toBe(2)
  again.stop()
  await again.ended
  await startAgent(other, { workDir })
  await expect.poll(() => other.registrations()).toBe(1)

  expect(mode & 0o777).toBe(0o600)
  expect(server.registered[0]).toMatchObject({ starts: true })
  expect(server.registered[0]).not.toHaveProperty('agentId')
  expect(server.registered[1]).toMatchObject({ agentId: 'agent-1', starts: true })
  expect(other.registered[0]).not.toHaveProperty('agentId')
})

test('an agent that cannot read which id it had starts without one', async () => {
  const server = await startServer()
  const workDir = await temporaryFolder()
  await writeFile(join(workDir, 'registration.json'), '{"agentId":')

  await startAgent(server, { workDir })

  await expect.poll(() => server.claims()).toBe(1)
  expect(server.registered[0]).not.toHaveProperty('agentId')
})

describeWithTerraform('the folder of a plan', () => {
  const dropped = (logged: Logged[]) =>
    expect.poll(() => logged.some(({ message }) => message.includes('dropped')), { timeout: 10_000 }).toBe(true)
  const planned = (greeting: string) => configuration(ONE_RESOURCE.replace('hello', greeting))

  test('is not applied when the server has never heard of the plan', async () => {
    const server = await startServer()
    const { logged, workDir } = await startAgent(server)
    const lost = server.submit({ runId: 'run-a', configuration: planned('lost') })
    lost.refuseOutcome()
    await dropped(logged)
    const elsewhere = await startServer()
    await startAgent(elsewhere)
    const accepted = elsewhere.submit({ configuration: planned('accepted') })
    await accepted.finished

    const { artifacts } = accepted
    const job = { planJobId: 'job-elsewhere', configuration: planned('accepted'), artifacts }
    await server.submit({ kind: 'apply', runId: 'run-a', ...job }).finished

    expect(server.api.current()?.outputs).toMatchObject({ greeting: { value: 'accepted' } })
    await expect.poll(() => readdir(join(workDir, 'runs')), { timeout: 5000 }).toEqual([])
  })

  test('makes room for that of the next attempt', async () => {
    const server = await startServer()
    const { logged, workDir } = await startAgent(server)
    const lost = server.submit({ runId: 'run-a', configuration: planned('lost') })
    lost.refuseOutcome()
    await dropped(logged)

    await server.submit({ runId: 'run-a', configuration: planned('accepted') }).finished
    await expect.poll(() => server.claims()).toBe(1)

    expect(await readdir(join(workDir, 'runs'))).toHaveLength(1)
  })
})

test('an engine that is not there is named in the outcome', async () => {
  const server = await startServer()
  await startAgent(server)

  const planned = await server.submit({
    configuration: configuration(''),
    engine: { product: 'tofu', version: '1.10.0' },
  }).finished

  expect(planned).toMatchObject({ status: 'errored', message: expect.stringContaining('this agent has no OpenTofu') })
})

describeWithTerraform('an agent', () => {
  test('trusts the authority that it is given, and so does its engine', async () => {
    const folder = await temporaryFolder()
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test'.split(' ')
    execFileSync('openssl', [...request, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    })
    const server = await startServer({ key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') })
    await startAgent(server, { caFile: cert })

    const planned = await server.submit({ configuration: configuration(ONE_RESOURCE) }).finished

    expect(planned.status).toBe('finished')
  })

  test('is heard of while all its slots work and it claims nothing', async () => {
    const server = await startServer()
    const agent = await startAgent(server, { lookMs: 50 })
    await expect.poll(() => server.claims()).toBe(1)
    const before = server.registrations()
    await server.submit({ runId: 'run-a', configuration: WAITING }).finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: WAITING })
    await apply.logged(/pid=\d/)

    await expect.poll(() => server.registrations()).toBeGreaterThan(before)

    expect(server.registered.at(-1)).toMatchObject({ agentId: 'agent-1' })
    agent.stop()
    agent.forceStop()
  })

  test('runs with the engine that it has, and says so, unless it is to be strict', async () => {
    const server = await startServer()
    const lenient = await startAgent(server)
    const job = { configuration: configuration(''), engine: { product: 'terraform', version: '1.2.3' } } as const

    const plan = server.submit(job)
    const planned = await plan.finished
    lenient.stop()
    await lenient.ended
    await startAgent(server, { strictEngineVersion: true })
    const refused = await server.submit(job).finished

    expect(planned.status).toBe('finished')
    expect(plan.log()).toContain('Terraform 1.2.3 is not on this agent: the run uses')
    expect(refused).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('Terraform 1.2.3 is not on this agent'),
    })
  })

  test('does not lose a job when the server restarts', async () => {
    const server = await startServer()
    const agent = await startAgent(server)
    const signs = await temporaryFolder()
    // The user of the run is to see it.
    await chmod(signs, 0o711)
    const release = join(signs, 'release')
    const archive = configuration(`resource "terraform_data" "a" {
      provisioner "local-exec" { command = "echo waiting$((0)); until test -e ${release}; do sleep 0.05; done; echo released" }
    }`)
    await server.submit({ runId: 'run-a', configuration: archive }).finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: archive })
    await apply.logged(/waiting0/)

    await server.pause()
    await expect.poll(() => agent.logged).toContainEqual(expect.objectContaining({ message: 'request is sent again' }))
    await server.resume()
    spawn('touch', [release])
    const applied = await apply.finished

    expect(applied.status).toBe('finished')
    expect(apply.log()).toMatch(/waiting[^]*released[^]*Apply complete/)
  })

  test('keeps the state of an apply that fails', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration(`resource "terraform_data" "good" {}
    resource "terraform_data" "bad" {
      depends_on = [terraform_data.good]
      provisioner "local-exec" { command = "exit 3" }
    }`)
    await server.submit({ runId: 'run-a', configuration: archive }).finished

    const applied = await server.submit({ kind: 'apply', runId: 'run-a', configuration: archive }).finished

    expect(applied).toMatchObject({ status: 'errored', exitCode: 1 })
    expect(server.api.current()?.resources.map(({ name }) => name)).toEqual(['bad', 'good'])
  })

  test('uploads the state that the engine could not store', async () => {
    const server = await startServer()
    await startAgent(server)
    const archive = configuration(ONE_RESOURCE)
    await server.submit({ runId: 'run-a', configuration: archive }).finished
    server.api.refuseState = 422

    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: archive })
    const applied = await apply.finished

    expect(applied.status).toBe('errored')
    expect(JSON.parse(apply.artifacts.get('errored-state')?.toString() ?? '')).toMatchObject({
      resources: [{ name: 'one' }],
    })
  })

  test('leaves no folder, and no secret on disk, when a run has ended', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server)
    const archive = configuration(`${ONE_RESOURCE}\nvariable "v" { sensitive = true }`)
    const secret = {
      key: 'v',
      value: 'topsecret',
      hcl: false,
      category: 'terraform',
      sensitive: true,
      level: 'override',
    } as const
    await server.submit({ runId: 'run-a', configuration: archive, variables: [secret] }).finished
    const kept = await filesBelow(join(workDir, 'runs'))
    const texts = await Promise.all(kept.map((path) => readFile(path, 'utf8')))

    await server.submit({ kind: 'apply', runId: 'run-a', configuration: archive }).finished

    expect(texts.filter((text) => /(job|engine)-token/.test(text))).toEqual([])
    expect(kept.filter((path) => path.includes('tfvars'))).toEqual([])
    await expect.poll(() => readdir(join(workDir, 'runs'))).toEqual([])
  })

  test('that is killed leaves no engine behind, nor what the engine has started', async () => {
    const server = await startServer()
    const env = {
      PATH: process.env['PATH'],
      GROUNDSTATE_URL: server.url,
      GROUNDSTATE_AGENT_TOKEN: AGENT_TOKEN,
      GROUNDSTATE_WORK_DIR: await temporaryFolder(),
    }
    const script = join(import.meta.dirname, '../bin/groundstate-agent.mjs')
    const agent = spawn(process.execPath, [script], { env, stdio: 'ignore' })
    onTestFinished(() => void agent.kill('SIGKILL'))
    await server.submit({ runId: 'run-a', configuration: WAITING }).finished
    const apply = server.submit({ kind: 'apply', runId: 'run-a', configuration: WAITING })
    await apply.logged(/pid=\d/)
    const pid = Number(/pid=(\d+)/.exec(apply.log())?.[1])
    const engine = Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(' ')[3])

    agent.kill('SIGKILL')
    await once(agent, 'exit')

    await expect.poll(() => [pid, engine].filter(processIsAlive)).toEqual([])
  })

  test('as a process ends with the signal that asks it to', async () => {
    const server = await startServer()
    const env = {
      PATH: process.env['PATH'],
      GROUNDSTATE_URL: server.url,
      GROUNDSTATE_AGENT_TOKEN: AGENT_TOKEN,
      GROUNDSTATE_WORK_DIR: await temporaryFolder(),
    }
    const agent = spawn(process.execPath, [join(import.meta.dirname, '../bin/groundstate-agent.mjs')], {
      env,
      stdio: 'ignore',
    })
    await expect.poll(() => server.claims(), { timeout: 5_000 }).toBeGreaterThan(0)

    agent.kill('SIGTERM')
    const [code] = await once(agent, 'exit')

    expect(code).toBe(0)
  })
})

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}
