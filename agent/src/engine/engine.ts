import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { AgentJob } from '@groundstate/contract/agent'
import { compareVersions, parseConstraint } from '@groundstate/contract/version-constraint'
import { z } from 'zod'
import { statsOf } from '../process/confined-file.ts'
import { codeOf, messageOf } from '../process/errors.ts'
import { parseJson } from '../server/connection.ts'
import type { EngineDownloads } from './engine-download.ts'
import type { Product } from './engine-keys.ts'

/** A working engine binary; `platform` is such as `linux_amd64`. */
export type Engine = { path: string; product: Product; version: string; platform: string }

export type EngineSearch = {
  /** A binary, or a directory of binaries, in addition to PATH. */
  enginePath: string | undefined
  /** Rejects a job whose exact version is missing, instead of running another version. */
  strict: boolean
  downloads?: EngineDownloads | undefined
}

export type FoundEngine = { engine: Engine; warning: string | undefined }

const NAMES = { terraform: 'Terraform', tofu: 'OpenTofu' } as const satisfies Record<Product, string>
const PRODUCTS = Object.keys(NAMES) as Product[]
/** A single version; strict, since it becomes part of a path and a URL. */
const EXACT = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/

const known = new Map<string, Promise<Engine | undefined>>()

/** Every job checks each directory of PATH; results are reused for this time, in ms. */
const RECENT_MS = 2_000
const recent = new Map<string, { at: number; engine: Promise<Engine | undefined> }>()

/**
 * Finds the engine that a job needs: in `enginePath`, where versions may be next to each other (`terraform_1.11.4/terraform`,
 * `terraform_1.11.4`, `terraform/1.11.4/terraform`, `1.11.4/terraform`), among the downloads, then in PATH. Downloads a missing version
 * if possible. If an exact version is unavailable, the highest installed one is used with a warning, unless the job requires its version or
 * the agent is `strict`. A constraint selects the highest version that meets it, `latest` the highest of all.
 */
export async function findEngine(requested: AgentJob['engine'], search: EngineSearch): Promise<FoundEngine> {
  const { product, version, required = false } = requested
  const engines = await enginesOf(product, search)
  const isExact = EXACT.test(version)
  const isAllowed = requirementOf(version)
  const local = engines.find((engine) => isAllowed(engine.version))
  if (local !== undefined) return { engine: local, warning: undefined }
  const isOffered = (one: string) => EXACT.test(one) && !(version === 'latest' && one.includes('-')) && isAllowed(one)
  const { engine, failure } = isExact
    ? await download(product, version, search)
    : await downloadHighest(product, isOffered, search)
  if (engine !== undefined) return { engine, warning: undefined }

  const [best] = engines
  if (best === undefined) throw new Error(`${await missingMessage(product, search)}${failure}`)
  const others = [...new Set(engines.map((other) => other.version))].join(', ')
  if (!isExact) {
    const missing = `no ${NAMES[product]} that meets ${version} is on this agent`
    throw new Error(`${missing}, which has ${others}${failure}`)
  }
  const mismatch = `${NAMES[product]} ${version} is not on this agent`
  if (search.strict || required) {
    const advice = 'set the terraform-version of the workspace to one of these, or to latest'
    throw new Error(`${mismatch}, which has ${others}: ${advice}${failure}`)
  }
  return { engine: best, warning: `${mismatch}: the run uses ${best.version}${failure}.` }
}

/** Returns a predicate for versions that meet a version, constraint or `latest`. */
function requirementOf(text: string): (version: string) => boolean {
  if (EXACT.test(text)) return (version) => version === text
  if (text === 'latest' || text === '') return () => true
  const constraint = parseConstraint(text)
  if (constraint !== undefined) return constraint.meets
  const advice = 'set the terraform-version of the workspace to one, or to latest'
  throw new Error(`"${text}" is neither a version nor a constraint such as ~> 1.9.0: ${advice}`)
}

/** All engines that are available without a download, the highest version first. */
export async function listEngines(search: EngineSearch): Promise<Pick<Engine, 'product' | 'version'>[]> {
  const lists = await Promise.all(PRODUCTS.map((product) => enginesOf(product, search)))
  return lists.flatMap((engines) => {
    const versions = new Set(engines.map(({ version }) => version))
    return engines.flatMap(({ product, version }) => (versions.delete(version) ? { product, version } : []))
  })
}

export function engineName(product: Product): string {
  return NAMES[product]
}

/** `failure` is a sentence to append to a message. */
type Download = { engine?: Engine; failure: string }

async function downloadHighest(product: Product, isAllowed: (version: string) => boolean, search: EngineSearch) {
  if (search.downloads === undefined) return NO_DOWNLOADS
  try {
    const offered = await search.downloads.listVersions(product)
    const highest = offered.filter(isAllowed).toSorted(compareVersions).at(-1)
    if (highest !== undefined) return await download(product, highest, search)
    return { failure: '. Its mirror has none either' } satisfies Download
  } catch (error) {
    return downloadFailure(error)
  }
}

async function download(product: Product, version: string, search: EngineSearch): Promise<Download> {
  if (search.downloads === undefined) return NO_DOWNLOADS
  try {
    await search.downloads.download(product, version)
  } catch (error) {
    return downloadFailure(error)
  }
  const path = join(search.downloads.directory, product, version, product)
  const engine = await identify(path)
  return engine ? { engine, failure: '' } : { failure: `. It was downloaded to ${path}, but does not start` }
}

const NO_DOWNLOADS: Download = { failure: '' }

function downloadFailure(error: unknown): Download {
  return { failure: `. The download failed: ${messageOf(error)}` }
}

async function missingMessage(product: Product, search: EngineSearch): Promise<string> {
  const where = search.enginePath === undefined ? 'in PATH' : `in ${search.enginePath} or PATH`
  const available = (await listEngines(search)).map((engine) => `${NAMES[engine.product]} ${engine.version}`)
  const others = available.length === 0 ? '' : `. It has ${available.join(', ')}`
  return `this agent has no ${NAMES[product]}: no binary "${product}" ${where}${others}`
}

/** The engines of a product, the highest version first; equal ones in the order of their directories. */
async function enginesOf(product: Product, { enginePath, downloads }: EngineSearch): Promise<Engine[]> {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '')
  const paths = [
    ...(enginePath === undefined ? [] : await enginesIn(enginePath, product)),
    ...(downloads === undefined ? [] : await enginesIn(join(downloads.directory, product), product)),
    ...directories.map((directory) => join(directory, product)),
  ]
  const engines = await Promise.all(paths.map(identifyRecent))
  return engines
    .flatMap((engine) => (engine?.product === product ? engine : []))
    .toSorted((a, b) => compareVersions(b.version, a.version))
}

async function enginesIn(path: string, product: Product): Promise<string[]> {
  const stats = await stat(path).catch(() => undefined)
  if (stats === undefined) return []
  if (!stats.isDirectory()) return [path]
  const entries = await readdir(path, { withFileTypes: true })
  const versioned = entries.filter(({ name }) => new RegExp(`^(${product}[_-]v?)?\\d+\\.\\d+`).test(name))
  const nested = entries.some((entry) => entry.name === product && entry.isDirectory())
  return [
    join(path, product),
    ...versioned.flatMap(({ name }) => [join(path, name), join(path, name, product)]),
    ...(nested ? await enginesIn(join(path, product), product) : []),
  ]
}

async function identifyRecent(path: string): Promise<Engine | undefined> {
  const former = recent.get(path)
  if (former !== undefined && performance.now() - former.at < RECENT_MS) return former.engine
  const engine = identify(path)
  recent.set(path, { at: performance.now(), engine })
  return engine
}

/** Runs a binary to get its version, once while the file stays the same. */
async function identify(path: string): Promise<Engine | undefined> {
  const stats = statsOf(path)
  if (stats === undefined || !stats.isFile()) return undefined
  const real = realpathSync.native(path)
  const key = `${real} ${stats.mtimeMs} ${stats.size}`
  const engine = known.get(key) ?? readVersion(real)
  known.set(key, engine)
  return engine.catch(() => {
    known.delete(key)
    return undefined
  })
}

/** Throws while the binary is being written: the same file may be usable later. */
async function readVersion(path: string): Promise<Engine | undefined> {
  const { PATH } = process.env
  const env = { PATH, HOME: dirname(path), CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: '/dev/null' }
  const run = async (...args: string[]) => {
    try {
      return (await promisify(execFile)(path, args, { env, timeout: 60_000 })).stdout
    } catch (error) {
      // The file is still open for writing, perhaps in a child that is about to start.
      if (codeOf(error) === 'ETXTBSY') throw error
      return ''
    }
  }
  const match = /^(Terraform|OpenTofu) v(\S+)\s+on (\S+)/.exec(await run('version'))
  if (match !== null) {
    const [, name, version = '', platform = ''] = match
    return { path, product: name === 'OpenTofu' ? 'tofu' : 'terraform', version, platform }
  }
  // A wrapper may support only the JSON output, which does not name the product.
  const { data } = versionOutput.safeParse(parseJson(await run('version', '-json')))
  if (!data) return undefined
  const product = basename(path).includes('tofu') ? 'tofu' : 'terraform'
  return { path, product, version: data.terraform_version, platform: data.platform }
}

const versionOutput = z.object({ terraform_version: z.string().regex(EXACT), platform: z.string().min(1) })
