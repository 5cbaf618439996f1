import { expect, test } from 'vitest'
import { problemsOf } from './health-problems.ts'
import type { Health } from './health.ts'

const NOW = '2030-01-31T12:00:00.000Z'
const before = (minutes: number) => new Date(Date.parse(NOW) - minutes * 60_000).toISOString()

const GOOD: Health = {
  version: '1.0.0',
  commit: null,
  'built-at': null,
  'node-version': '24.0.0',
  'measured-at': NOW,
  database: {
    version: '18.4',
    'is-embedded': true,
    'size-bytes': 1e7,
    connections: 3,
    'max-connections': 100,
    'latency-ms': 2,
    migration: '0001',
  },
  storage: { kind: 'disk', place: 'here', error: null, 'latency-ms': 1, 'total-bytes': 100e9, 'free-bytes': 50e9 },
  queue: { waiting: 0, scheduled: 0, active: 0, failed: 0, 'oldest-waiting-at': null, kinds: [] },
  agents: { online: 1, busy: 1, 'jobs-waiting': 2, 'oldest-job-waiting-at': before(1), pools: [], engines: [] },
  mail: null,
  servers: [],
  process: { 'memory-bytes': 1e8, 'heap-bytes': 1e7, 'started-at': before(60) },
}

test('nothing is wrong with a busy server', () => {
  expect(problemsOf(GOOD)).toEqual([])
})

test.each<[string, Partial<Health>, RegExp, boolean]>([
  ['a nearly full disk', { storage: { ...GOOD.storage, 'free-bytes': 8e9 } }, /8.0 GB of 100 GB are free/, false],
  ['a full disk', { storage: { ...GOOD.storage, 'free-bytes': 1e9 } }, /1.0 GB of 100 GB are free/, true],
  ['missing storage', { storage: { ...GOOD.storage, error: 'no such directory' } }, /can’t be read: no such/, true],
  ['many connections', { database: { ...GOOD.database, connections: 95 } }, /95 of 100 connections/, false],
  ['a slow database', { database: { ...GOOD.database, 'latency-ms': 500 } }, /takes 500 ms/, false],
  ['a job that waits', { queue: { ...GOOD.queue, waiting: 1, 'oldest-waiting-at': before(5) } }, /for 5 min/, false],
  ['failed jobs', { queue: { ...GOOD.queue, failed: 1 } }, /1 job failed/, false],
  ['no agent', { agents: { ...GOOD.agents, online: 0 } }, /No agent is online/, true],
  ['a run that waits', { agents: { ...GOOD.agents, 'oldest-job-waiting-at': before(9) } }, /2 runs wait/, false],
])('%s is a problem', (_, change, text, isSevere) => {
  const problems = problemsOf({ ...GOOD, ...change })

  expect(problems).toHaveLength(1)
  expect(problems[0]?.text).toMatch(text)
  expect(problems[0]?.isSevere ?? false).toBe(isSevere)
})
