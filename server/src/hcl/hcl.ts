import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { concurrencyLimit } from '../concurrency-limit.ts'
import { codeOf } from '../error-code.ts'

const ENTRY = import.meta.url.endsWith('.ts') ? './hcl-worker.ts' : './hcl-worker.js'

/** Maximum size of the files of one call, in characters. */
export const HCL_MAX = 8 * 1024 * 1024
const TIMEOUT_MS = 20_000
/** Time after which the idle thread exits and frees its 60 MB, in ms. */
const IDLE_MS = 5000

export type HclFile = { path: string; text: string }

/**
 * A file as JSON: a block type is an object of its labels, and each block is an item of a list (`{"policy": {"name": [{…}]}}`). Expressions that are no
 * literals are texts such as `${var.x}`. `problem` says why a file cannot be parsed, for users.
 */
export type ParsedHcl = { path: string } & (
  | { body: Record<string, unknown>; problem?: undefined }
  | { problem: string; body?: undefined }
)

/** The files as far as they could be parsed; after a failure of the parser it cannot be used again. */
export type Parsed = { files: ParsedHcl[]; isBroken: boolean }

export type HclParser = ReturnType<typeof createHclParser>

/** Parses HCL in a thread, which starts with the first call. Files come from users: time and size are bounded. */
export function createHclParser() {
  let pool: Piscina<readonly HclFile[], Parsed> | undefined
  // Not the pool's queue: calls in it would be lost with a thread that ends.
  const oneByOne = concurrencyLimit(1)

  async function parse(files: readonly HclFile[]): Promise<ParsedHcl[]> {
    const size = files.reduce((sum, { text }) => sum + text.length, 0)
    if (size > HCL_MAX) return files.map(({ path }) => ({ path, problem: `the files have more than ${HCL_MAX} bytes` }))
    return oneByOne(async () => run(files))
  }

  async function run(files: readonly HclFile[]): Promise<ParsedHcl[]> {
    pool ??= new Piscina({
      filename: fileURLToPath(new URL(ENTRY, import.meta.url)),
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
      atomics: 'disabled',
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    })
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    try {
      const { files: parsed, isBroken } = await pool.run(files, { signal })
      if (isBroken) await end()
      const rest = files.slice(parsed.length)
      const problem = `the parser failed at ${rest[0]?.path}: its expressions are nested too deep`
      return [...parsed, ...rest.map(({ path }) => ({ path, problem }))]
    } catch (error) {
      // The thread was ended: it ran too long, or into the limit of its memory.
      if (!signal.aborted && codeOf(error) !== 'ERR_WORKER_OUT_OF_MEMORY') throw error
      return files.map(({ path }) => ({ path, problem: 'it takes too long to parse, or too much memory' }))
    }
  }

  async function end() {
    await pool?.destroy()
    pool = undefined
  }

  return { parse, [Symbol.asyncDispose]: end }
}
