import { z } from 'zod'
import { type Written, linkedResource, nullable, timestamp } from './responses.ts'

const queueCounts = {
  waiting: z.int().describe('jobs that are due; at most 10,000 are counted'),
  scheduled: z.int().describe('jobs that are due later, such as after a failed attempt'),
  active: z.int().describe('running jobs, at most half a minute ago'),
  failed: z.int().describe('jobs that have failed finally within the last day; at most 10,000 are counted'),
  'oldest-waiting-at': nullable.time.describe('since when the oldest waiting job is due'),
}

const agentCounts = {
  online: z.int(),
  busy: z.int(),
  'jobs-waiting': z.int().describe('plans and applies that wait for an agent; at most 10,000 are counted'),
}

const bytes = z.int()

/** The condition of the server, its database, storage, queue and agents at the time of the request. */
export const siteHealthSchema = linkedResource('site-health', {
  name: 'SiteHealth',
  attributes: {
    version: z.string(),
    commit: nullable.string.describe('of the package; null in a clone'),
    'built-at': nullable.time,
    'node-version': z.string(),
    'measured-at': timestamp,
    database: z.strictObject({
      version: z.string(),
      'is-embedded': z.boolean().describe('whether the server runs the database'),
      'size-bytes': bytes,
      connections: z.int(),
      'max-connections': z.int(),
      'latency-ms': z.number(),
      migration: z.string().describe('the last migration'),
    }),
    storage: z.strictObject({
      kind: z.enum(['disk', 's3']),
      place: z.string(),
      error: nullable.string.describe('why state, logs and archives cannot be read; null if they can'),
      'latency-ms': z.number(),
      'total-bytes': bytes.nullable().describe('size of the file system; null for a bucket'),
      'free-bytes': bytes.nullable(),
    }),
    queue: z.strictObject({
      ...queueCounts,
      kinds: z.array(z.strictObject({ name: z.string(), ...queueCounts })),
    }),
    agents: z.strictObject({
      ...agentCounts,
      'oldest-job-waiting-at': nullable.time,
      pools: z
        .array(z.strictObject({ id: z.string(), name: z.string(), organization: nullable.string, ...agentCounts }))
        .describe('pools with agents online or jobs waiting, at most 100'),
      engines: z.array(z.strictObject({ product: z.string(), version: z.string() })).describe('of agents online'),
    }),
    mail: z
      .strictObject({ server: z.string(), from: z.string() })
      .nullable()
      .describe('the mail server; null if the server sends no mail'),
    servers: z
      .array(
        z.strictObject({
          id: z.string(),
          'is-this': z.boolean().describe('whether it served this request'),
          address: nullable.string.describe('its address at the database'),
          version: nullable.string.describe('null for a version that does not report it'),
          role: z.enum(['all', 'api', 'worker']).nullable(),
          'started-at': nullable.time,
          'connected-at': timestamp,
        }),
      )
      .describe('processes of this installation that are connected to the database'),
    process: z
      .strictObject({ 'memory-bytes': bytes, 'heap-bytes': bytes, 'started-at': timestamp })
      .describe('the process that served this request'),
  },
})
export type SiteHealthResource = Written<typeof siteHealthSchema>

export const failedJobSchema = linkedResource('failed-jobs', {
  attributes: {
    kind: z.string(),
    subjects: z.array(z.string()).describe('ids of what the job is about'),
    error: nullable.string,
    attempts: z.int(),
    'created-at': timestamp,
    'failed-at': timestamp,
  },
})
export type FailedJobResource = Written<typeof failedJobSchema>

export const failedJobsChanged = z
  .strictObject({ count: z.int().describe('number of jobs that were retried or discarded') })
  .meta({ id: 'FailedJobsChanged' })

export const mailTestSchema = z
  .strictObject({
    to: z.string().describe("the address of the caller's account"),
    error: nullable.string.describe('why the mail was not sent; null if the mail server has accepted it'),
  })
  .meta({ id: 'MailTest' })
export type MailTest = Written<typeof mailTestSchema>
