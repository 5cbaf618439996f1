import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { AgentJob } from '@groundstate/contract/agent'
import { compareVersions, parseConstraint } from '@groundstate/contract/version-constraint'
import { z } from 'zod'
import { factsOf } from '../process/confined-file.ts'
import type { EngineDownloads } from './engine-download.ts'
import type { Product } from './engine-keys.ts'

/** An engine binary that is there and answers; `platform` is such as `linux_amd64`. */
export type Engine = { path: string; product: Product; version: string; platform: string }

export type EngineSearch = {
  /** A binary, or a directory that holds some. Without it, PATH alone is searched. */
  enginePath: string | undefined
  /** Refuse a job whose exact version is not there, in place of running it with another. */
  strict: boolean
  /** Source of versions that are not installed. */
  downloads?: EngineDownloads | undefined
}

/** A note for the run about the engine that was found. */
export type FoundEngine = { engine: Engine; warning: string | undefined }

const NAMES = { terraform: 'Terraform', tofu: 'OpenTofu' } as const satisfies Record<Product, string>
const PRODUCTS = Object.keys(NAMES) as Product[]
/** One version; part of a path and of an address, so nothing else may be in it. */
const EXACT = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/

const known = new Map<string, Promise<Engine | undefined>>()

/** Each directory of PATH is looked at for every job: what was seen there this recently, in ms, still holds. */
const SEEN_MS = 2_000
const seen = new Map<string, { at: number; engine: Promise<Engine | undefined> }>()

/**
 * Finds the engine that a job asks for: in `enginePath`, where versions may lie side by side (`terraform_1.11.4/terraform`,
 * `terraform_1.11.4`, `terraform/1.11.4/terraform`, `1.11.4/terraform`), among the downloads, then in PATH. A version that is
 * not there is downloaded when it can be. Without the exact version the highest that is there is taken, with a warning, unless
 * the job requires its version or the agent is `strict`. A constraint is met by the highest version that it allows, `latest` by
 * the highest of all.
 */
export async function findEngine(wanted: AgentJob['engine'], search: EngineSearch): Promise<FoundEngine> {
  const engines = await enginesOf(wanted.product, search)
  if (EXACT.test(wanted.version)) return findExact(wanted, { engines, search })
  if (wanted.version === 'latest' || wanted.version === '') return findAllowed(wanted, () => true, { engines, search })
  const constraint = parseConstraint(wanted.version)
  if (constraint === undefined) {
    throw new Error(
      `"${wanted.version}" is neither a version nor a constraint such as ~> 1.9.0: set the terraform-version of the workspace to one, or to latest`,
    )
  }
  return findAllowed(wanted, constraint.meets, { engines, search })
}

/** All engines that are there, the highest version first. */
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

type Sources = { engines: Engine[]; search: EngineSearch }

async function findExact(wanted: AgentJob['engine'], { engines, search }: Sources): Promise<FoundEngine> {
  const { product, version } = wanted
  const exact = engines.find((engine) => engine.version === version)
  if (exact !== undefined) return { engine: exact, warning: undefined }
  const downloaded = await download(product, version, search)
  if (typeof downloaded === 'object') return { engine: downloaded, warning: undefined }

  const best = engines[0]
  if (best === undefined) throw new Error(`${await noneMessage(product, search)}${downloaded}`)
  const mismatch = `${NAMES[product]} ${version} is not on this agent`
  if (search.strict || wanted.required === true) {
    const advice = 'set the terraform-version of the workspace to one that is there, or to latest'
    throw new Error(`${mismatch}, which has ${versionsText(engines)}: ${advice}${downloaded}`)
  }
  return { engine: best, warning: `${mismatch}: the run uses ${best.version}${downloaded}.` }
}

async function findAllowed(
  { product, version }: AgentJob['engine'],
  isAllowed: (version: string) => boolean,
  { engines, search }: Sources,
): Promise<FoundEngine> {
  const best = engines.find((engine) => isAllowed(engine.version))
  if (best !== undefined) return { engine: best, warning: undefined }
  const isOffered = (one: string) => EXACT.test(one) && !(version === 'latest' && one.includes('-'))
  let failure = ''
  if (search.downloads !== undefined) {
    const offered = await search.downloads.listVersions(product).catch((error: unknown) => reason(error))
    const highest = Array.isArray(offered)
      ? offered
          .filter((one) => isOffered(one) && isAllowed(one))
          .toSorted(compareVersions)
          .at(-1)
      : undefined
    const downloaded = highest === undefined ? offered : await download(product, highest, search)
    if (typeof downloaded === 'object' && !Array.isArray(downloaded)) return { engine: downloaded, warning: undefined }
    failure = Array.isArray(downloaded) ? `. Its mirror has none either` : downloaded
  }
  if (engines.length === 0) throw new Error(`${await noneMessage(product, search)}${failure}`)
  throw new Error(
    `no ${NAMES[product]} that meets ${version} is on this agent, which has ${versionsText(engines)}${failure}`,
  )
}

/** The engine, or why it could not be had: a sentence to append. */
async function download(product: Product, version: string, search: EngineSearch): Promise<Engine | string> {
  if (search.downloads === undefined) return ''
  try {
    await search.downloads.download(product, version)
  } catch (error) {
    return reason(error)
  }
  const path = join(search.downloads.directory, product, version, product)
  const engine = await identify(path)
  return engine ?? `. It was downloaded to ${path}, and does not start`
}

function reason(error: unknown): string {
  return `. The download failed: ${error instanceof Error ? error.message : String(error)}`
}

async function noneMessage(product: Product, search: EngineSearch): Promise<string> {
  const where = search.enginePath === undefined ? 'in PATH' : `in ${search.enginePath} or PATH`
  const there = (await listEngines(search)).map((engine) => `${NAMES[engine.product]} ${engine.version}`)
  const others = there.length === 0 ? '' : `. It has ${there.join(', ')}`
  return `this agent has no ${NAMES[product]}: no binary "${product}" ${where}${others}`
}

function versionsText(engines: Engine[]): string {
  return [...new Set(engines.map((engine) => engine.version))].join(', ')
}

/** Those of a product, the highest version first; of equal ones, in the order of the places. */
async function enginesOf(product: Product, { enginePath, downloads }: EngineSearch): Promise<Engine[]> {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '')
  const paths = [
    ...(enginePath === undefined ? [] : await enginesIn(enginePath, product)),
    ...(downloads === undefined ? [] : await enginesIn(join(downloads.directory, product), product)),
    ...directories.map((directory) => join(directory, product)),
  ]
  const found = (await Promise.all(paths.map(look))).filter((engine) => engine?.product === product)
  return found.filter((engine) => engine !== undefined).toSorted((a, b) => compareVersions(b.version, a.version))
}

async function enginesIn(path: string, product: Product): Promise<string[]> {
  const facts = await stat(path).catch(() => undefined)
  if (facts === undefined) return []
  if (!facts.isDirectory()) return [path]
  const entries = await readdir(path, { withFileTypes: true })
  const versioned = entries.filter(({ name }) => new RegExp(`^(${product}[_-]v?)?\\d+\\.\\d+`).test(name))
  const nested = entries.some((entry) => entry.name === product && entry.isDirectory())
  return [
    join(path, product),
    ...versioned.flatMap(({ name }) => [join(path, name), join(path, name, product)]),
    ...(nested ? await enginesIn(join(path, product), product) : []),
  ]
}

async function look(path: string): Promise<Engine | undefined> {
  const recent = seen.get(path)
  if (recent !== undefined && performance.now() - recent.at < SEEN_MS) return recent.engine
  const engine = identify(path)
  seen.set(path, { at: performance.now(), engine })
  return engine
}

/** Asks a binary what it is, once as long as the file stays the same. */
async function identify(path: string): Promise<Engine | undefined> {
  const facts = factsOf(path)
  if (facts === undefined || !facts.isFile()) return undefined
  const real = realpathSync.native(path)
  const key = `${real} ${facts.mtimeMs} ${facts.size}`
  const engine = known.get(key) ?? askVersion(real)
  known.set(key, engine)
  return engine.catch(() => {
    known.delete(key)
    return undefined
  })
}

/** The error of a program that is still being written; a child that is about to start may hold it open for a moment longer. */
const BEING_WRITTEN = 'ETXTBSY'

/** Throws while the binary is being written: it may answer later, as the same file. */
async function askVersion(path: string): Promise<Engine | undefined> {
  const env = {
    PATH: process.env['PATH'],
    HOME: dirname(path),
    CHECKPOINT_DISABLE: '1',
    TF_CLI_CONFIG_FILE: '/dev/null',
  }
  const ask = async (...args: string[]) => {
    try {
      return (await promisify(execFile)(path, args, { env, timeout: 60_000 })).stdout
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === BEING_WRITTEN) throw error
      return ''
    }
  }
  const match = /^(Terraform|OpenTofu) v(\S+)\s+on (\S+)/.exec(await ask('version'))
  // A wrapper may know the response for programs only, which names no product.
  if (match === null) return engineOf(path, await ask('version', '-json'))
  const [, name, version = '', platform = ''] = match
  return { path, product: name === 'OpenTofu' ? 'tofu' : 'terraform', version, platform }
}

const VERSION_RESPONSE = z.object({ terraform_version: z.string().regex(EXACT), platform: z.string().min(1) })

function engineOf(path: string, response: string): Engine | undefined {
  try {
    const { terraform_version: version, platform } = VERSION_RESPONSE.parse(JSON.parse(response))
    return { path, product: basename(path).includes('tofu') ? 'tofu' : 'terraform', version, platform }
  } catch {
    return undefined
  }
}
