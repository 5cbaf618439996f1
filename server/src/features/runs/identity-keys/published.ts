import { publishedKeys } from '@groundstate/contract/identity-keys'
import type { Config } from '../../../config.ts'
import { createOutbound, OutboundError } from '../../../outbound/outbound.ts'
import { isExternalIssuer, KEYS_PATH } from './issuer.ts'

/** Why services may not find a key at the address of the issuer, if it is not this server's; undefined if they do. Never throws. */
export async function publicationProblem(config: Config, keyId: string): Promise<string | undefined> {
  const { issuerUrl } = config
  if (issuerUrl === undefined || !isExternalIssuer(config)) return undefined
  const address = `${issuerUrl}${KEYS_PATH}`
  try {
    const keys = await readKeys(config, address)
    const isPublished = keys.some(({ kid }) => kid === keyId)
    return isPublished ? undefined : `the published keys at ${address} do not have the key ${keyId}`
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return `the published keys at ${address} cannot be read: ${error.message}`
  }
}

async function readKeys({ httpProxy, httpsProxy, noProxy }: Config, address: string) {
  // The operator has set the address, which may be in a private network.
  await using outbound = createOutbound({ allowPrivate: true, httpProxy, httpsProxy, noProxy })
  const response = await outbound.fetch(address, { method: 'GET', headers: { accept: 'application/json' } })
  if (response.status !== 200) throw new OutboundError(`the status is ${response.status}`)
  const document: unknown = await response.json().catch(() => undefined)
  const { data } = publishedKeys.safeParse(document)
  if (!data) throw new OutboundError('the content is not that of the exported file')
  return data.keys
}
