import { parseConstraint } from '@groundstate/contract/version-constraint'

export type Product = 'terraform' | 'tofu'

/** The engine that a run requests. */
export type WantedEngine = {
  /** Null where no one has named one: then the engine that an agent has. */
  product: Product | null
  /** The one to take where an agent has both. */
  preferred: Product
  version: string
  /** Whether another version would not do. */
  required: boolean
}

/** The engines that an agent reports. */
export type EngineHolder = {
  engines: readonly { product: Product; version: string }[]
  /** Null for agents that do not say so: they may have or get any. */
  downloads: boolean | null
}

/** How well an agent can do with the engine that a run asks for: `preferred`, `other` (another engine than the preferred one) or `none`. */
export type EngineMatch = 'preferred' | 'other' | 'none'

const FITS: readonly EngineMatch[] = ['none', 'other', 'preferred']

export function matchOf(wanted: WantedEngine, agent: EngineHolder): EngineMatch {
  if (agent.downloads !== false) return 'preferred'
  const product = bestProduct(wanted, agent)
  if (product === undefined) return 'none'
  return product === (wanted.product ?? wanted.preferred) ? 'preferred' : 'other'
}

export function isBetterMatch(one: EngineMatch, other: EngineMatch) {
  return FITS.indexOf(one) > FITS.indexOf(other)
}

/** The engine for an agent that takes the run. An agent that lacks it and can't download it says so in the run's log. */
export function productFor(wanted: WantedEngine, agent: EngineHolder): Product {
  if (wanted.product !== null) return wanted.product
  const fitting = bestProduct(wanted, agent)
  if (fitting !== undefined) return fitting
  if (agent.downloads !== false) return wanted.preferred
  return bestProduct({ ...wanted, required: false }, agent) ?? wanted.preferred
}

function bestProduct({ product, preferred, version, required }: WantedEngine, { engines }: EngineHolder) {
  const meets = required ? conditionOf(version) : () => true
  const fitting = engines.filter((engine) => meets(engine.version)).map((engine) => engine.product)
  if (product !== null) return fitting.find((one) => one === product)
  return fitting.find((one) => one === preferred) ?? fitting[0]
}

function conditionOf(version: string): (version: string) => boolean {
  if (version === 'latest' || version === '') return () => true
  // What is neither a version nor a constraint is refused by any agent, in words.
  return parseConstraint(version)?.meets ?? (() => true)
}
