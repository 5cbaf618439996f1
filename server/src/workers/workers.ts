import { fileURLToPath } from 'node:url'
import { deserialize } from 'node:v8'
import { isMarkedAsUntransferable } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { concurrencyLimit } from '../concurrency-limit.ts'
import { createHclParser } from '../hcl/hcl.ts'
import type { KnownValues } from '../terraform-state/known-values.ts'
import type { DiffLimits } from '../terraform-state/state-diff.ts'
import { type Outcome, runTask, type TaskName, type TaskOptions, type Tasks, tooDeep } from './tasks.ts'
import type { WorkerRequest } from './worker.ts'

const ENTRY = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js'

/** Maximum total size of contents that are processed on the calling thread (0.4 ms), in bytes: a message to a worker takes twice as long. */
export const INLINE_BYTES = 128 * 1024
/** Minimum size of large content, in bytes. One thread is reserved for smaller content. */
const LARGE_BYTES = 1024 * 1024
/** Time after which an idle worker exits, in ms. */
const IDLE_MS = 5000

export type Workers = ReturnType<typeof createWorkers>

/**
 * Processes large JSON documents off the event loop. Content that fills its ArrayBuffer is **transferred**: it is empty for the caller afterwards.
 * A view of a larger buffer is copied; a SharedArrayBuffer is shared. Unreadable content is an outcome with a reason; other failures throw.
 */
export function createWorkers({ maxThreads }: { maxThreads: number }) {
  const pool = new Piscina<WorkerRequest, Uint8Array>({
    filename: fileURLToPath(new URL(ENTRY, import.meta.url)),
    minThreads: 0,
    maxThreads,
    idleTimeout: IDLE_MS,
    // A worker that waits in Atomics.wait could not collect garbage.
    atomics: 'disabled',
    // The content is untrusted, so workers do not get our settings and flags.
    env: {},
    execArgv: [],
  })

  const hcl = createHclParser()
  const large = concurrencyLimit(Math.max(1, maxThreads - 1))

  async function run<N extends TaskName>(name: N, contents: Uint8Array[], options: TaskOptions = {}) {
    const size = contents.reduce((sum, { byteLength }) => sum + byteLength, 0)
    // A small archive may contain large files.
    if (size <= INLINE_BYTES && name !== 'remoteReads') return runTask(name, contents, options)
    const owned = ownedContents(contents)
    const transferList = owned.flatMap(({ buffer }) => (buffer instanceof ArrayBuffer ? [buffer] : []))
    const work = async () => pool.run({ name, contents: owned, options }, { transferList })
    const outcome = await (size < LARGE_BYTES ? work() : large(work))
    try {
      return deserialize(outcome) as Outcome<ReturnType<Tasks[N]>>
    } catch (error) {
      return tooDeep(error)
    }
  }

  return {
    /** MD5, header and extraction of a raw state, which is not transferred. */
    examine: (raw: Uint8Array) => run('examine', [copyOf(raw)]),
    /** MD5 and header of a raw state, which is not transferred. */
    inspect: (raw: Uint8Array) => run('inspect', [copyOf(raw)]),
    /** Header of a raw state. */
    readHeader: (raw: Uint8Array) => run('readHeader', [raw]),
    /** Reason why content is not a JSON object; undefined if it is one. */
    findJsonFault: (json: Uint8Array) => run('findJsonFault', [json]),
    /** Extracts a raw state of format 3 or 4. */
    extract: (raw: Uint8Array) => run('extract', [raw]),
    /** Extracts a `terraform show -json` state, for states with encrypted raw content. */
    extractJson: (json: Uint8Array) => run('extractJson', [json]),
    /** JSON of a `StateDiff` of two states, each raw or JSON. */
    diff: (from: Uint8Array, to: Uint8Array, limits?: DiffLimits) => run('diff', [from, to], limits),
    /** JSON of the redacted plan. */
    redactPlan: (plan: Uint8Array, schemas: Uint8Array) => run('redactPlan', [plan, schemas]),
    /** A redacted plan without the values of sensitive variables. */
    maskPlan: (plan: Uint8Array, sensitive: KnownValues) => run('maskPlan', [plan], { sensitive }),
    /** A `StateDiff` without them. */
    maskDiff: (diff: Uint8Array, sensitive: KnownValues) => run('maskDiff', [diff], { sensitive }),
    /** Whether a JSON value is or contains one of them. */
    holdsSensitive: (json: Uint8Array, sensitive: KnownValues) => run('holdsSensitive', [json], { sensitive }),
    /** Outputs of workspaces that a configuration reads, from the JSON of a plan and the archive; see `remoteReads`. */
    remoteReads: (plan: Uint8Array, archive: Uint8Array) => run('remoteReads', [plan, archive]),
    /** The changes of a plan, each with a digest of its values under a key; see `planChanges`. */
    planChanges: (plan: Uint8Array, digestKey: string) => run('planChanges', [plan], { digestKey }),
    /** Parses files of HCL in a thread, see `ParsedHcl`. */
    parseHcl: hcl.parse,
    /** Stops the threads and rejects running work. */
    [Symbol.asyncDispose]: async () => {
      await Promise.all([pool.destroy(), hcl[Symbol.asyncDispose]()])
    },
  }
}

/** Content that may be transferred without affecting the caller. */
function copyOf(content: Uint8Array) {
  return content.buffer instanceof SharedArrayBuffer ? content : Uint8Array.from(content)
}

/** Copies contents that share a buffer with other data, so that they can be transferred. */
function ownedContents(contents: Uint8Array[]) {
  const seen = new Set<ArrayBufferLike>()
  return contents.map((content) => {
    const { buffer } = content
    if (buffer instanceof SharedArrayBuffer) return content
    const isOwn = content.byteLength === buffer.byteLength && !isMarkedAsUntransferable(buffer) && !seen.has(buffer)
    seen.add(buffer)
    return isOwn ? content : new Uint8Array(content)
  })
}
