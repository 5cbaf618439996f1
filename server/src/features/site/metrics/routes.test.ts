import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { passedBy } from '../../../testing/database-proxy.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createReplica } from '../../../testing/replica.ts'
import { createRun, createRunSetting } from '../../../testing/runs.ts'

async function scrape(app: TestApp, token?: string) {
  const response = await app.request({ url: '/metrics', token })
  return { status: response.status, text: response.text, lines: response.text.split('\n') }
}

/** The increase of series since `before`: other tests of the process have counted before. */
function increases(before: readonly string[], after: readonly string[], series: readonly string[]) {
  const valueIn = (lines: readonly string[], name: string) =>
    Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? 0)
  return series.map((name) => valueIn(after, name) - valueIn(before, name))
}

/** The names of metrics, without the suffixes of histograms. */
function namesIn(text: string) {
  return [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
}

test('the metrics have the queue, runs by status, agents and what this process did', async () => {
  const app = await createTestApp()
  const setting = await createRunSetting(app)
  await createFakeAgent(app)
  const before = await scrape(app)
  await createRun(app, setting)
  const other = await createReplica(app)

  const lines = (await other.fastify.inject('/metrics')).payload.split('\n')

  const pool = 'pool="built-in",organization=""'
  expect(lines).toContain(`groundstate_queue_jobs{${pool}} 1`)
  expect(lines).toContain(`groundstate_queue_running_jobs{${pool}} 0`)
  expect(lines).toContain(`groundstate_agents{${pool},status="idle"} 1`)
  expect(lines).toContain('groundstate_runs{status="plan_queued"} 1')
  expect(lines).toContain('groundstate_runs{status="planning"} 0')
  expect(lines).toContain('groundstate_database_up 1')
  expect(lines).toContain('groundstate_servers 2')
  const counted = [
    'groundstate_runs_created_total{source="tfe-api"}',
    'groundstate_http_request_duration_seconds_count{method="POST",route="/api/v2/runs",status="2xx"}',
    'groundstate_http_requests_in_flight',
  ]
  expect(increases(before.lines, lines, counted)).toEqual([1, 1, 0])
})

test('the phases of a run are measured with their outcome', async () => {
  const app = await createTestApp()
  const setting = await createRunSetting(app)
  const agent = await createFakeAgent(app)
  await createRun(app, setting)
  const job = await agent.take()
  const before = await scrape(app)
  app.clock.advance(30_000)
  await job.finish({ status: 'errored', exitCode: 1, message: 'plan ended with exit code 1' })

  const { lines } = await scrape(app)

  const counted = [
    'groundstate_run_phase_duration_seconds_bucket{le="15",phase="plan",outcome="errored"}',
    'groundstate_run_phase_duration_seconds_bucket{le="60",phase="plan",outcome="errored"}',
    'groundstate_runs_ended_total{status="errored"}',
  ]
  expect(increases(before.lines, lines, counted)).toEqual([0, 1, 1])
})

test('a server that others can reach shows metrics only for the token', async () => {
  const token = 'metrics-token-1234'
  const open = await createTestApp({ GROUNDSTATE_HOST: '0.0.0.0' })
  const closed = await createTestApp({ GROUNDSTATE_METRICS_TOKEN: token })

  const without = await scrape(open)

  expect(without).toMatchObject({ status: 401, text: expect.stringContaining('GROUNDSTATE_METRICS_TOKEN') })
  expect(await scrape(closed)).toMatchObject({ status: 401 })
  expect(await scrape(closed, `${token}5`)).toMatchObject({ status: 401 })
  expect(await scrape(closed, token)).toMatchObject({ status: 200 })
})

test('a scrape without a responding database has the metrics of the process', async () => {
  let isCut = false
  const clients = new Set<Socket>()
  const app = await createTestApp(
    {},
    {
      reach: async (url) =>
        passedBy(url, (client, target) => {
          clients.add(client)
          client.on('data', (data: Buffer) => void (isCut || target.write(data)))
          target.on('data', (data: Buffer) => void client.write(data))
          client.on('end', () => target.end())
        }),
    },
  )
  isCut = true

  const { status, lines } = await scrape(app)
  isCut = false
  for (const client of clients) client.destroy()

  expect(status).toBe(200)
  expect(lines).toContain('groundstate_database_up 0')
  expect(lines.some((line) => line.startsWith('groundstate_process_resident_memory_bytes '))).toBe(true)
  expect(lines.some((line) => line.startsWith('groundstate_queue_jobs'))).toBe(false)
})

test('the documentation lists every metric, and no other', async () => {
  const app = await createTestApp()
  const page = await readFile(new URL('../../../../../docs/MONITORING.md', import.meta.url), 'utf8')

  const { text } = await scrape(app)

  const listed = [...page.matchAll(/^\| `(groundstate_\w+)` \| (\w+) \| (.*?) \|/gm)]
  const labelsOf = (labels = '') => [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label)
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\w+)/gm)].map(([, name, type]) => [name, type]))
  expect(listed.map(([, name = '']) => name).toSorted()).toEqual(namesIn(text).toSorted())
  for (const [, name, type, labels] of listed) {
    expect([name, type]).toEqual([name, types.get(name)])
    const samples = text.split('\n').filter((line) => new RegExp(`^${name}(?:_bucket|_count|_sum)?\\{`).test(line))
    const used = samples.flatMap((line) => [...line.matchAll(/[{,](\w+)="/g)].map(([, label]) => label))
    expect([name, [...new Set(used)].filter((label) => label !== 'le' && !labelsOf(labels).includes(label))]).toEqual([
      name,
      [],
    ])
  }
})
