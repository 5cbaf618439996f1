import { publishedKeys } from '@groundstate/contract/identity-keys'
import { messageOf } from '../../../error-code.ts'
import { KEYS_PATH } from './issuer.ts'

const TIMEOUT_MS = 10_000

type Published = { address: string } & ({ hasKey: boolean } | { problem: string })

/** Whether the keys at the address of an issuer, which the operator has set, contain a key; or why they cannot be read from here. */
export async function findPublishedKey(issuer: string, keyId: string): Promise<Published> {
  const address = `${issuer}${KEYS_PATH}`
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' })
    if (!response.ok) return { address, problem: `it responded with ${response.status}` }
    const { keys } = publishedKeys.parse(await response.json())
    return { address, hasKey: keys.some(({ kid }) => kid === keyId) }
  } catch (error) {
    return { address, problem: messageOf(error instanceof TypeError && error.cause ? error.cause : error) }
  }
}
