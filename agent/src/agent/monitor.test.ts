import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { trackActivity } from '../activity.ts'
import { configuration, startAgent, startServer, temporaryDirectory } from '../testing/agent-fixture.ts'
import { startMonitor } from './monitor.ts'

type Options = NonNullable<Parameters<typeof startAgent>[1]>

/** Starts an agent with a monitor on a free port; `get` reads one of its paths. */
async function startMonitored(server: Parameters<typeof startAgent>[0], options: Options = {}) {
  const port = Promise.withResolvers<number>()
  const agent = await startAgent(server, {
    ...options,
    monitor: async (activity) => {
      const monitor = await startMonitor(activity, { host: '127.0.0.1', port: 0 })
      port.resolve(monitor.port)
      return monitor
    },
  })
  const url = `http://127.0.0.1:${await port.promise}`
  const get = async (path: string) => {
    const response = await fetch(`${url}${path}`)
    return { status: response.status, text: await response.text() }
  }
  return { ...agent, get }
}

const documentation = new URL('../../../docs/RUN-AN-AGENT.md', import.meta.url)

test('an agent is alive while it waits for the server, and ready once it is registered', async () => {
  const server = await startServer()
  await server.pause()
  const agent = await startMonitored(server)

  const before = [await agent.get('/healthz'), await agent.get('/readyz')]
  await server.resume()

  expect(before).toEqual([
    { status: 200, text: 'ok\n' },
    { status: 503, text: 'the agent is not registered\n' },
  ])
  await expect.poll(async () => agent.get('/readyz')).toEqual({ status: 200, text: 'ok\n' })
  expect((await agent.get('/elsewhere')).status).toBe(404)
})

test('a port that another program uses is named with the setting', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const activity = trackActivity({
    concurrency: 1,
    kinds: ['plan'],
    isRegistered: () => true,
    isStopping: () => false,
    contactedAt: () => undefined,
  })

  await expect(startMonitor(activity, { host: '127.0.0.1', port })).rejects.toThrow(
    `can't listen on 127.0.0.1:${port}: the port is in use; stop the other program, or set GROUNDSTATE_AGENT_METRICS_ADDRESS`,
  )
})

test('an agent that drains is not ready', async () => {
  const server = await startServer()
  const agent = await startMonitored(server)
  await expect.poll(async () => (await agent.get('/readyz')).status).toBe(200)
  const receiver = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void receiver.close())
  await once(receiver, 'listening')
  void server.tasks.submit({ url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}` })
  const [open] = (await once(receiver, 'connection')) as [Socket]
  onTestFinished(() => void open.destroy())
  await expect.poll(async () => (await agent.get('/metrics')).text).toContain('work_running{kind="task"} 1')

  agent.stop()

  expect(await agent.get('/readyz')).toEqual({ status: 503, text: 'the agent is draining\n' })
})

test('an agent without a response for a minute is not ready', () => {
  const { problem } = trackActivity({
    concurrency: 1,
    kinds: ['plan'],
    isRegistered: () => true,
    isStopping: () => false,
    contactedAt: () => performance.now() - 61_000,
  })

  expect(problem()).toBe('no response of the server for 61 s')
})

test('the metrics count work by its outcome, and the documentation lists all of them', async () => {
  const server = await startServer()
  const enginePath = await temporaryDirectory()
  const agent = await startMonitored(server, { enginePath, concurrency: 2 })
  const engine = { product: 'tofu', version: '0.0.1' } as const

  await server.submit({ configuration: configuration(''), engine }).finished

  const metrics = async () => (await agent.get('/metrics')).text
  await expect.poll(metrics).toContain('groundstate_agent_work_total{kind="plan",outcome="errored"} 1')
  const text = await metrics()
  for (const line of ['ready 1', 'concurrency 2', 'work_running{kind="plan"} 0', 'work_running{kind="policy"} 0'])
    expect(text).toContain(`groundstate_agent_${line}\n`)
  expect(Number(/^groundstate_agent_last_contact_seconds (\S+)$/m.exec(text)?.[1])).toBeLessThan(30)
  const page = await readFile(documentation, 'utf8')
  const listed = [...page.matchAll(/^\| `(groundstate_agent_\w+)` \| (\w+) \|/gm)].map(([, name, type]) => [name, type])
  const served = [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, type]) => [name, type])
  expect(served.filter(([name]) => !/_(?:nodejs|process)_/.test(name ?? ''))).toEqual(listed)
})
