import { parseConstraint } from '@groundstate/contract/version-constraint'

export type Product = 'terraform' | 'tofu'

export type RequestedEngine = {
  /** Null for any engine that an agent has. */
  product: Product | null
  /** The one to use if an agent has both. */
  preferred: Product
  version: string
  /** Whether no other version may be used. */
  required: boolean
}

export type AgentEngines = {
  engines: readonly { product: Product; version: string }[]
  /** Null for agents that do not report it: they may have or download any. */
  downloads: boolean | null
}

const MATCHES = ['none', 'other', 'preferred'] as const
/** Suitability of an agent for a requested engine; `other` is another engine than the preferred one. */
type EngineMatch = (typeof MATCHES)[number]

export function matchOf(requested: RequestedEngine, agent: AgentEngines): EngineMatch {
  if (agent.downloads !== false) return 'preferred'
  const product = bestProduct(requested, agent)
  if (product === undefined) return 'none'
  return product === (requested.product ?? requested.preferred) ? 'preferred' : 'other'
}

export function isBetterMatch(one: EngineMatch, other: EngineMatch) {
  return MATCHES.indexOf(one) > MATCHES.indexOf(other)
}

/** The engine for an agent that executes the run. An agent that neither has nor downloads it reports that in the run's log. */
export function productFor(requested: RequestedEngine, agent: AgentEngines): Product {
  if (requested.product !== null) return requested.product
  const product = bestProduct(requested, agent)
  if (product !== undefined) return product
  if (agent.downloads !== false) return requested.preferred
  return bestProduct({ ...requested, required: false }, agent) ?? requested.preferred
}

function bestProduct({ product, preferred, version, required }: RequestedEngine, { engines }: AgentEngines) {
  const meets = required ? conditionOf(version) : () => true
  const suitable = engines.filter((engine) => meets(engine.version)).map((engine) => engine.product)
  if (product !== null) return suitable.find((one) => one === product)
  return suitable.find((one) => one === preferred) ?? suitable[0]
}

function conditionOf(version: string): (version: string) => boolean {
  if (version === 'latest' || version === '') return () => true
  // Every agent rejects an invalid version or constraint with a message.
  return parseConstraint(version)?.meets ?? (() => true)
}
