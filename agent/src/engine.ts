import { execFile } from 'node:child_process'
import { readdir, realpath, stat } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { AgentJob } from '@groundstate/contract/agent'

export type Product = AgentJob['engine']['product']

/** An engine binary that is there and answers; `platform` is such as `linux_amd64`. */
export type Engine = { path: string; product: Product; version: string; platform: string }

export type EngineSearch = {
  /** A binary, or a folder that holds some. Without it, PATH alone is searched. */
  enginePath: string | undefined
  /** Refuse a job whose exact version is not there, in place of running it with another. */
  strict: boolean
}

/** What a run needs to be told about the engine that was found. */
export type FoundEngine = { engine: Engine; warning: string | undefined }

const NAMES = { terraform: 'Terraform', tofu: 'OpenTofu' } as const satisfies Record<Product, string>

const known = new Map<string, Promise<Engine | undefined>>()

/** Each folder of PATH is looked at for every job: what was seen there this recently, in ms, still holds. */
const SEEN_MS = 2_000
const seen = new Map<string, { at: number; engine: Promise<Engine | undefined> }>()

/**
 * Finds the engine that a job asks for: in `enginePath`, where versions may lie side by side (`terraform_1.11.4/terraform`,
 * `terraform_1.11.4`, `terraform/1.11.4/terraform`, `1.11.4/terraform`), then in PATH. Without the exact version the highest
 * that is there is taken, with a warning, unless the job requires its version or the agent is `strict`. A wanted version that
 * is no plain one (`latest`, a constraint) is met by any.
 */
export async function findEngine(
  wanted: AgentJob['engine'],
  { enginePath, strict }: EngineSearch,
): Promise<FoundEngine> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const paths = [
    ...(enginePath === undefined ? [] : await enginesIn(enginePath, wanted.product)),
    ...folders.map((folder) => join(folder, wanted.product)),
  ]
  const found = (await Promise.all(paths.map(look))).filter((engine) => engine?.product === wanted.product)
  const engines = found.filter((engine) => engine !== undefined)
  const exact = engines.find((engine) => engine.version === wanted.version)
  if (exact !== undefined) return { engine: exact, warning: undefined }

  const best = engines.toSorted((a, b) => compareVersions(b.version, a.version))[0]
  const where = enginePath === undefined ? 'in PATH' : `in ${enginePath} or PATH`
  if (best === undefined)
    throw new Error(`this agent has no ${NAMES[wanted.product]}: no binary "${wanted.product}" ${where}`)
  if (!/^\d+\.\d+\.\d+/.test(wanted.version)) return { engine: best, warning: undefined }
  const mismatch = `${NAMES[wanted.product]} ${wanted.version} is not on this agent`
  if (strict || wanted.required === true) {
    const present = [...new Set(engines.map((engine) => engine.version))].join(', ')
    const advice = 'set the terraform-version of the workspace to one that is there, or to latest'
    throw new Error(`${mismatch}, which has ${present}: ${advice}`)
  }
  return { engine: best, warning: `${mismatch}: the run uses ${best.version}.` }
}

export function engineName(product: Product): string {
  return NAMES[product]
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
  const facts = await stat(path).catch(() => undefined)
  if (facts === undefined || !facts.isFile()) return undefined
  const real = await realpath(path)
  const key = `${real} ${facts.mtimeMs} ${facts.size}`
  const engine = known.get(key) ?? askVersion(real)
  known.set(key, engine)
  return engine
}

async function askVersion(path: string): Promise<Engine | undefined> {
  const env = {
    PATH: process.env['PATH'],
    HOME: dirname(path),
    CHECKPOINT_DISABLE: '1',
    TF_CLI_CONFIG_FILE: '/dev/null',
  }
  const answer = await promisify(execFile)(path, ['version'], { env, timeout: 60_000 }).catch(() => undefined)
  const match = /^(Terraform|OpenTofu) v(\S+)\s+on (\S+)/.exec(answer?.stdout ?? '')
  if (match === null) return undefined
  const [, name, version = '', platform = ''] = match
  return { path, product: name === 'OpenTofu' ? 'tofu' : 'terraform', version, platform }
}

/** Orders by the numbers; a pre-release comes before its release. */
function compareVersions(a: string, b: string): number {
  const [aCore = '', aPre] = a.split('-', 2)
  const [bCore = '', bPre] = b.split('-', 2)
  const order = aCore.localeCompare(bCore, 'en', { numeric: true })
  if (order !== 0) return order
  if (aPre === undefined || bPre === undefined) return Number(bPre !== undefined) - Number(aPre !== undefined)
  return aPre.localeCompare(bPre, 'en', { numeric: true })
}
