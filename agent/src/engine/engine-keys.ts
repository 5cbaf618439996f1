import type { AgentJob } from '@groundstate/contract/agent'
import keys from './engine-keys.json' with { type: 'json' }

export type Product = AgentJob['engine']['product']

function signingKey({ fingerprint, armored }: (typeof keys)[Product]) {
  return { fingerprint, armored: `${armored.join('\n')}\n` }
}

/** The keys that sign the releases of the engines. HashiCorp's is also part of every terraform binary. */
export const ENGINE_KEYS = { terraform: signingKey(keys.terraform), tofu: signingKey(keys.tofu) }
