import { fileURLToPath } from 'node:url'
import { deserialize } from 'node:v8'
import { isMarkedAsUntransferable } from 'node:worker_threads'
import { Piscina } from 'piscina'
import type { ExaminedState } from '../terraform-state/examined-state.ts'
import type { PackedExtraction } from '../terraform-state/packed-extraction.ts'
import type { RemoteRead } from '../terraform-state/remote-reads.ts'
import type { DiffLimits } from '../terraform-state/state-diff.ts'
import type { InspectedState, StateHeader } from '../terraform-state/state-header.ts'
import { type Outcome, runTask, type TaskName, type Tasks, tooDeep } from './tasks.ts'
import type { WorkerRequest } from './worker.ts'

/** In a bundle the entry is next to it too. */
const ENTRY = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js'

/** Contents of up to this many bytes in all are worked on at once (0.4 ms): a trip to a worker takes twice as long. */
const INLINE_BYTES = 128 * 1024
/**
 * Content from this size (bytes) on is read by all threads but one, which is left to smaller content. Each takes tens of MB for it: of states of
 * 5 MB, two threads on two processors took up a tenth more than one, with 40 MB more.
 */
const LARGE_BYTES = 1024 * 1024
/** A worker with nothing to do exits after this time (ms), so that an idle server holds none. */
const IDLE_MS = 5000

/**
 * Work on big JSON documents, off the event loop.
 *
 * A content that fills its own ArrayBuffer is **given away**: it is transferred, so that nothing is copied, and is empty
 * for the caller from then on. A view of a larger buffer is copied; a SharedArrayBuffer is shared.
 *
 * The loop is held only while a response is taken in.
 *
 * Content that can't be read is an outcome with a reason (a detail for its reader); what else goes wrong is thrown.
 */
export type Workers = {
  /** The MD5, the header and the extraction of a raw state, which is not given away. */
  examine(raw: Uint8Array): Promise<Outcome<ExaminedState>>
  /** The MD5 and the header of a raw state, which is not given away. */
  inspect(raw: Uint8Array): Promise<Outcome<InspectedState>>
  /** The header of a raw state. */
  readHeader(raw: Uint8Array): Promise<Outcome<StateHeader>>
  /** Why content is no JSON object; undefined when it is one. */
  findJsonFault(json: Uint8Array): Promise<Outcome<string | undefined>>
  /** Examines a raw state of format 3 or 4. */
  extract(raw: Uint8Array): Promise<Outcome<PackedExtraction>>
  /** Examines a `terraform show -json` state, for states with encrypted raw content. */
  extractJson(json: Uint8Array): Promise<Outcome<PackedExtraction>>
  /** The bytes of a `StateDiff` of two states, each raw or JSON. */
  diff(from: Uint8Array, to: Uint8Array, limits?: DiffLimits): Promise<Outcome<Uint8Array>>
  /** The bytes of the redacted plan, from those of the plan and of the provider schemas. */
  redactPlan(plan: Uint8Array, schemas: Uint8Array): Promise<Outcome<Uint8Array>>
  /** Which outputs of other workspaces a configuration reads, from the JSON of a plan and the archive; see `remoteReads`. */
  remoteReads(plan: Uint8Array, archive: Uint8Array): Promise<Outcome<RemoteRead[] | undefined>>
  /** Stops the threads; what still runs is rejected. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Makes the pool; its threads start with the first content that needs one. */
export function createWorkers({ maxThreads }: { maxThreads: number }): Workers {
  const pool = new Piscina<WorkerRequest, Uint8Array>({
    filename: fileURLToPath(new URL(ENTRY, import.meta.url)),
    minThreads: 0,
    maxThreads,
    idleTimeout: IDLE_MS,
    // A worker that waits for its next task in Atomics.wait would not get to collecting what the last one has left.
    atomics: 'disabled',
    // The content is a stranger's: what reads it gets neither our settings nor our flags.
    env: {},
    execArgv: [],
  })

  const large = limitedTo(Math.max(1, maxThreads - 1))

  async function run<N extends TaskName>(name: N, contents: Uint8Array[], options: DiffLimits = {}) {
    const size = contents.reduce((sum, { byteLength }) => sum + byteLength, 0)
    // A small archive may unpack to much.
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
    examine: (raw) => run('examine', [kept(raw)]),
    inspect: (raw) => run('inspect', [kept(raw)]),
    readHeader: (raw) => run('readHeader', [raw]),
    findJsonFault: (json) => run('findJsonFault', [json]),
    extract: (raw) => run('extract', [raw]),
    extractJson: (json) => run('extractJson', [json]),
    diff: (from, to, limits) => run('diff', [from, to], limits),
    redactPlan: (plan, schemas) => run('redactPlan', [plan, schemas]),
    remoteReads: (plan, archive) => run('remoteReads', [plan, archive]),
    [Symbol.asyncDispose]: () => pool.destroy(),
  }
}

/** Does pieces of work in the order in which they come, so many at once. */
function limitedTo(atOnce: number) {
  const waiting: (() => void)[] = []
  let busy = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (busy === atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else busy += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else busy -= 1
    }
  }
}

/** The content, or a copy that may be given away. */
function kept(content: Uint8Array) {
  return content.buffer instanceof SharedArrayBuffer ? content : Uint8Array.from(content)
}

/** Copies contents into dedicated buffers where needed, so that transferring them affects nothing else. */
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
