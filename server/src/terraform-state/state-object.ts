import type { CtyType } from './cty.ts'
import type { Sensitivity } from './sensitivity.ts'

/** One object that the engine manages or has read: an instance of a resource, without the deposed ones. */
export type StateObject = {
  /** The raw address with its instance keys, such as `module.net["a"].module.deep`; empty for the root module. */
  module: string
  mode: 'managed' | 'data'
  type: string
  name: string
  /** Of `count` a number, of `for_each` a string. */
  key: string | number | undefined
  /** As a raw state writes it: `provider["registry.terraform.io/hashicorp/null"]`, perhaps with an alias. */
  provider: string
  tainted: boolean
  attributes: Record<string, unknown>
  sensitive: Sensitivity
}

export type StateOutput = { name: string; sensitive: boolean; value: unknown; type: CtyType }
