import { rootCertificates } from 'node:tls'
import type { TaskRequest } from '@groundstate/contract/agent-requests'
import { Agent, type Dispatcher } from 'undici'
import { guardedLookup, targetProblem } from './addresses.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** Timeout for the body of a run task's response, which is only displayed, in ms. */
const BODY_TIMEOUT_MS = 5_000

/** The response with the beginning of its body, or why there is none. */
export type Sent = { durationMs: number } & (
  | { status: number; headers: Record<string, string | string[]>; body: Buffer; isTruncated: boolean }
  | { error: string; code?: string }
)

/** `ca` is PEM that replaces the default certificate authorities. */
export function createDispatcher(ca: string | string[] | undefined): Dispatcher {
  return new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup, allowH2: false, ...(ca !== undefined && { ca }) },
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** Sends a request once, follows no redirects, and never throws. */
export async function sendRequest(request: TaskRequest, shared: Dispatcher, forceful: AbortSignal): Promise<Sent> {
  const started = performance.now()
  const elapsed = () => Math.round(performance.now() - started)
  const problem = targetProblem(request.url)
  if (problem !== undefined) return { durationMs: 0, error: problem }
  const { kind, method, timeoutMs, ca, maxBytes, headers: sent } = request
  const own = ca === undefined ? undefined : createDispatcher([...rootCertificates, ca])
  const timeout = AbortSignal.timeout(timeoutMs)
  const { origin, pathname, search } = new URL(request.url)
  try {
    const response = await (own ?? shared).request({
      origin,
      path: `${pathname}${search}`,
      method,
      headers: sent,
      body: request.body === undefined ? null : Buffer.from(request.body, 'base64'),
      signal: AbortSignal.any([timeout, forceful]),
    })
    const durationMs = elapsed()
    const bodyTimeoutMs = kind === 'task' ? BODY_TIMEOUT_MS : timeoutMs
    const content = await readStart(response.body, { maxBytes, timeoutMs: bodyTimeoutMs })
    const present = Object.entries(response.headers).filter((entry) => entry[1] !== undefined)
    const headers = Object.fromEntries(present) as Record<string, string | string[]>
    return { durationMs, status: response.statusCode, headers, ...content }
  } catch (error) {
    const durationMs = elapsed()
    if (forceful.aborted) return { durationMs, error: 'the agent was stopped before it received a response' }
    if (timeout.aborted) return { durationMs, error: `no response within ${timeoutMs / 1000} s` }
    return { durationMs, ...failure(error) }
  } finally {
    await own?.destroy()
  }
}

type Limits = { maxBytes: number; timeoutMs: number }

/** Reads the beginning of a body, and closes the connection if more follows. */
async function readStart(stream: Dispatcher.ResponseData['body'], { maxBytes, timeoutMs }: Limits) {
  const chunks: Buffer[] = []
  let size = 0
  let isTruncated = false
  const timer = setTimeout(() => stream.destroy(), timeoutMs)
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      isTruncated = size > maxBytes
      if (isTruncated) break
    }
  } catch {
    isTruncated = true
  } finally {
    clearTimeout(timer)
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), isTruncated }
}

/** Reports the innermost error, which is the most specific. */
function failure(error: unknown): { error: string; code?: string } {
  if (error instanceof AggregateError && error.errors.length > 0) return failure(error.errors[0])
  if (error instanceof Error && error.cause instanceof Error) return failure(error.cause)
  if (!(error instanceof Error)) return { error: String(error) }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  return { error: error.message.slice(0, 1000) || error.name, ...(code !== undefined && { code }) }
}
