import { z } from 'zod'
import { claimBody, text } from './agent.ts'
import { gitOperation, gitRemote } from './git-operations.ts'
import { boundedList, boundedMap } from './json-api.ts'

/* Requests that an agent sends from its own network, and git operations there: see `agent.ts`. */

/** The purpose of an HTTP request: a run task, or a host of repositories. */
export const REQUEST_KINDS = ['task', 'repository'] as const
export type RequestKind = (typeof REQUEST_KINDS)[number]

export const claimTaskBody = claimBody.pick({ waitMs: true }).extend({
  /** Earlier versions omit this. */
  accepts: z.array(z.enum(REQUEST_KINDS)).min(1).max(REQUEST_KINDS.length).default(['task']),
})

export const REQUEST_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Maximum size of a body in a report, in bytes. A longer one is uploaded. */
export const REPORTED_BODY_BYTES = 64 * 1024
/** Maximum size of the body of a response, in bytes. */
export const MAX_RESPONSE_BYTES = 16 * 1024 * 1024

export const taskRequest = z.object({
  id: z.string(),
  token: z.string(),
  kind: z.enum(REQUEST_KINDS).default('task'),
  /** Time within which the response must be reported, in ms. */
  leaseMs: z.int(),
  method: z.enum(REQUEST_METHODS),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  /** The exact bytes to send, in base64: the headers may contain their signature. Absent for none. */
  body: z.base64().optional(),
  ca: z.string().optional(),
  /** Timeout for the first byte of the response, in ms. */
  timeoutMs: z.int(),
  /** Size of the body's beginning that is reported, in bytes. */
  maxBytes: z.int().max(MAX_RESPONSE_BYTES).default(REPORTED_BODY_BYTES),
})
export type TaskRequest = z.infer<typeof taskRequest>

/** HTTP clients accept headers of 16 KB in total. */
const header = z.string().max(16_384)

const durationMs = z.int().min(0).max(3_600_000)

export const reportTaskResponseBody = z.union([
  z.object({
    durationMs,
    status: z.int().min(100).max(999),
    headers: boundedMap(header, header.or(boundedList(header))),
    /** The beginning of the body, in base64; empty if it was uploaded. */
    body: z.base64().max(Math.ceil(REPORTED_BODY_BYTES / 3) * 4),
    isUploaded: z.boolean().optional(),
    /** The body is longer than `maxBytes`, or was interrupted. */
    isTruncated: z.boolean(),
  }),
  z.object({
    durationMs,
    error: z.string().min(1).max(1000),
    /** Error code of Node.js, for which the server may have a clearer message. */
    code: z.string().max(100).optional(),
  }),
])
export type ReportTaskResponse = z.infer<typeof reportTaskResponseBody>

export const claimGitBody = claimBody.pick({ waitMs: true })

export const gitRequest = z.object({
  id: z.string(),
  token: z.string(),
  /** The lease is lost after this time without a heartbeat, in ms. */
  leaseMs: z.int(),
  remote: gitRemote,
  operation: gitOperation,
})
export type GitRequest = z.infer<typeof gitRequest>

/** Maximum size of a report, in bytes: a repository may have 100,000 branches and tags. */
export const MAX_GIT_REPORT_BYTES = 16 * 1024 * 1024

/** The kinds of git errors; the agent explains them. */
export const GIT_ERROR_KINDS = [
  'unauthorised',
  'forbidden',
  'not-found',
  'unreachable',
  'too-large',
  'conflict',
  'forbidden',
  'invalid',
  'timed-out',
] as const

export const reportGitBody = z.union([
  /** As `gitResults` has it for the operation. */
  z.object({ result: z.record(z.string(), z.unknown()) }),
  z.object({ error: z.object({ kind: z.enum(GIT_ERROR_KINDS), message: text(1000).pipe(z.string().min(1)) }) }),
])
export type ReportGit = z.infer<typeof reportGitBody>
