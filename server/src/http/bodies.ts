import { isUtf8 } from 'node:buffer'
import { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { callerId } from '../auth/actor.ts'
import { messageOf } from '../error-code.ts'
import { invalid, tooLarge, tooManyRequests, unavailable } from '../errors.ts'
import { parseBase64Fields } from './base64-fields.ts'
import { getActor } from './request-log.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    base64Fields?: readonly string[]
  }
}

/** Deeper than any document of the API, but shallow enough for recursive code. */
const MAX_DEPTH = 100

/**
 * Parses bodies as forms or, regardless of their content type, as JSON. Empty bodies are undefined. A body that cannot be parsed is `invalid`,
 * like one that lacks a field (INTERFACE §1.4.3).
 */
export function parseBodies(scope: FastifyInstance) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    async (request: FastifyRequest, payload: Readable) => {
      const body = await wholeBody(request, payload)
      // curl sends this content type by default, also with JSON.
      return /^\s*[{[]/.test(body.toString('latin1', 0, 20)) ? parseJson(request, body) : parseForm(body)
    },
  )
  // Clients send JSON with several types, and types without a body.
  scope.addContentTypeParser('*', parseJsonBody)
}

/**
 * Leaves bodies as streams, except those with base64 fields, which are parsed as JSON. A body without a declared length fails with
 * `too-large` at the limit of its route.
 */
export function streamBodies(scope: FastifyInstance) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', async (request: FastifyRequest, payload: Readable) => {
    const { bodyLimit: limit, config } = request.routeOptions
    if (config.base64Fields) return parseJsonBody(request, payload)
    return request.headers['content-length'] === undefined ? Readable.from(limited(payload, limit)) : payload
  })
}

/**
 * Parses a body and frees its memory immediately: a few of several MB would take hundreds of MB until the next garbage
 * collection, and their chunks would fragment the C heap.
 */
async function parseJsonBody(request: FastifyRequest, payload: Readable) {
  const body = await wholeBody(request, payload)
  try {
    return await parseJson(request, body)
  } finally {
    free(body)
  }
}

/** Reads a body into memory. Throws `too-large` at the limit of its route, and if unfinished bodies take too much memory. */
export async function wholeBody(request: FastifyRequest, payload: Readable) {
  using held = holdMemory(callerId(getActor(request)) ?? request.ip)
  const limit = request.routeOptions.bodyLimit
  const declared = request.headers['content-length']
  const rejection = () => tooLarge(`the body is larger than the ${limit} bytes that this endpoint takes`)
  if (Number(declared) > limit) throw rejection()
  const content = new GrowingBuffer(declared === undefined ? undefined : Number(declared))
  return await new Promise<Buffer>((resolve, reject) => {
    const receive = (chunk: Buffer) => {
      const fault = content.size + chunk.length > limit ? rejection() : held.take(chunk.length)
      if (fault) {
        payload.off('data', receive)
        return reject(fault)
      }
      content.add(chunk)
      freeChunk(payload, chunk)
    }
    payload
      .on('error', reject)
      .on('end', () => resolve(content.whole()))
      .on('data', receive)
  })
}

/** The value of a body that an agent sends as JSON; undefined, which no schema accepts, for anything else. */
export function parsedJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

/** Maximum sizes of the unfinished bodies in memory, in bytes: of all callers, of one, and of one that is always admitted. */
const MAX_HELD = 384 * 1024 * 1024
const MAX_HELD_BY_CALLER = 192 * 1024 * 1024
const ADMITTED = 2 * 1024 * 1024
const RETRY_MS = 1000

const heldBy = new Map<string, number>()
let heldByAll = 0

function holdMemory(caller: string) {
  let held = 0
  const change = (bytes: number) => {
    held += bytes
    heldByAll += bytes
    const total = (heldBy.get(caller) ?? 0) + bytes
    if (total === 0) heldBy.delete(caller)
    else heldBy.set(caller, total)
  }
  return {
    /** Adds bytes; returns the error if there are too many. */
    take(bytes: number) {
      const own = (heldBy.get(caller) ?? 0) + bytes
      if (own > MAX_HELD_BY_CALLER)
        return tooManyRequests(`your unfinished requests have more than ${MAX_HELD_BY_CALLER} bytes`, RETRY_MS)
      if (own > ADMITTED && heldByAll + bytes > MAX_HELD)
        return unavailable(`the unfinished requests of all callers have more than ${MAX_HELD} bytes`, RETRY_MS)
      return change(bytes)
    },
    [Symbol.dispose]: () => change(-held),
  }
}

async function* limited(payload: Readable, limit: number) {
  let size = 0
  // Leaving the loop early must not destroy the stream, or no response could be sent.
  for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
    size += (chunk as Buffer).length
    if (size > limit) throw tooLarge(`the upload has more than the maximum of ${limit} bytes`)
    yield chunk
  }
}

async function parseJson(request: FastifyRequest, body: Buffer): Promise<unknown> {
  if (body.length === 0) return undefined
  if (!isUtf8(body)) throw invalid('the body is not valid UTF-8', '')
  const value = await readJson(body, request.routeOptions.config.base64Fields)
  // Valid UTF-8 can contain these characters only as escapes, so most bodies need no check of each string.
  checkValue(value, body.includes('\\u') && /\\u(?:0000|d[89a-f])/i.test(body.toString('latin1')))
  return value
}

async function readJson(body: Buffer, base64Fields: readonly string[] | undefined): Promise<unknown> {
  try {
    return base64Fields ? await parseBase64Fields(body, base64Fields) : JSON.parse(body.toString())
  } catch (error) {
    throw invalid(`the body is not valid JSON: ${messageOf(error)}`, '')
  }
}

function parseForm(body: Buffer) {
  const form: unknown = Object.fromEntries(new URLSearchParams(body.toString()))
  checkValue(form, body.includes('%00') || body.includes(0))
  return form
}

type PathNode = { value: unknown; parent: PathNode | undefined; key: string; depth: number }

/**
 * Rejects the character U+0000 and lone surrogates, which PostgreSQL cannot store, and the key `__proto__`, which can change an object's
 * prototype. `texts` enables the check of strings.
 */
function checkValue(root: unknown, texts: boolean) {
  const isOpen = typeof root === 'string' ? texts : typeof root === 'object' && root !== null
  const open: PathNode[] = isOpen ? [{ value: root, parent: undefined, key: '', depth: 1 }] : []
  for (let node = open.pop(); node; node = open.pop()) {
    const { value, depth } = node
    if (typeof value === 'string') {
      if (!isStorable(value))
        throw invalid(
          'a text has the character U+0000 or half of a surrogate pair, which cannot be stored',
          pointer(node),
        )
      continue
    }
    if (depth > MAX_DEPTH) throw invalid(`the body is nested deeper than ${MAX_DEPTH} levels`, '')
    const children = value as Record<string, unknown>
    for (const key in children) {
      const child = children[key]
      if (key === '__proto__' || (texts && !isStorable(key))) {
        throw invalid('a key is __proto__, or has the character U+0000 or half of a surrogate pair', pointer(node))
      }
      const isOpen = typeof child === 'string' ? texts : typeof child === 'object' && child !== null
      if (isOpen && !Buffer.isBuffer(child)) open.push({ value: child, parent: node, key, depth: depth + 1 })
    }
  }
}

function isStorable(text: string) {
  return text.isWellFormed() && !text.includes('\0')
}

function pointer(node: PathNode) {
  const steps: string[] = []
  for (let at = node; at.parent; at = at.parent) steps.unshift(at.key.replaceAll('~', '~0').replaceAll('/', '~1'))
  return `/${steps.join('/')}`
}

/** Maximum initial allocation, in bytes: a client may declare a large body and send nothing. */
const FIRST_BYTES = 512 * 1024
const UNDECLARED_BYTES = 64 * 1024

/** Collects chunks in one buffer. Joining them at the end would take twice the memory. */
export class GrowingBuffer {
  size = 0
  #buffer: Buffer = Buffer.alloc(0)
  #declaredBytes: number
  #isShared: boolean

  /** `declaredBytes` comes from the sender and may be wrong. Workers read shared memory without a copy. */
  constructor(declaredBytes = UNDECLARED_BYTES, { isShared = false } = {}) {
    this.#declaredBytes = declaredBytes
    this.#isShared = isShared
  }

  add(chunk: Buffer) {
    const required = this.size + chunk.length
    if (required > this.#buffer.length) this.#grow(required)
    chunk.copy(this.#buffer, this.size)
    this.size = required
  }

  /** The bytes received so far. They do not change when more arrive. */
  whole() {
    return this.from(0)
  }

  /** As `whole`, from byte `start` on. */
  from(start: number) {
    return this.#buffer.subarray(start, this.size)
  }

  #grow(required: number) {
    const planned = this.size === 0 ? Math.min(this.#declaredBytes, FIRST_BYTES) : this.#declaredBytes
    const length = required <= planned ? planned : required * 2
    const grown = this.#isShared ? Buffer.from(new SharedArrayBuffer(length)) : Buffer.allocUnsafeSlow(length)
    this.#buffer.copy(grown, 0, 0, this.size)
    this.#buffer = grown
  }
}

/** Frees the memory of bytes immediately, unless other buffers share it. V8 would otherwise run a full garbage collection every few MB. */
function free(bytes: Buffer) {
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) buffer.transfer(0)
}

/** As `free`, for a chunk of a body, except of requests that tests inject. */
export function freeChunk(body: Readable, chunk: Buffer) {
  if (body instanceof IncomingMessage) free(chunk)
}
