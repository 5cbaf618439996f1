import { type Key, createMessage, enums, readKeys, readSignature } from 'openpgp'

/** Hashes without known collisions. */
const HASHES = new Set<number>([enums.hash.sha256, enums.hash.sha384, enums.hash.sha512])

/**
 * Verifies a detached PGP signature, armored or binary, against trusted keys. Throws when none of them
 * made it. Ignores the expiry of keys: it would only mean that this copy of the key is old, and the engines
 * do the same for the signatures of providers.
 */
export async function checkSignature(signed: Uint8Array, signature: Uint8Array, armoredKeys: readonly string[]) {
  const keys = (await Promise.all(armoredKeys.map((armored) => readKeys({ armoredKeys: armored })))).flat()
  const { packets } = await parseSignature(signature)
  const message = await createMessage({ binary: new Uint8Array(signed) })
  const [literal] = message.packets
  if (literal === undefined) throw new Error('there is nothing to check')
  const reasons: string[] = []
  for (const packet of packets) {
    const keyId = packet.issuerKeyID.toHex().toUpperCase()
    const key = signingKeys(keys, packet.issuerKeyID)
    if (key === undefined) {
      reasons.push(`the key ${keyId}, which has signed it, is not trusted here`)
      continue
    }
    if (!HASHES.has(packet.hashAlgorithm ?? 0)) {
      reasons.push('it is made with a weak hash')
      continue
    }
    try {
      await packet.verify(key.keyPacket, enums.signature.binary, literal, new Date(), true)
      return
    } catch (error) {
      reasons.push(`${keyId}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  throw new Error(reasons.length === 0 ? 'it holds no signature' : reasons.join('; '))
}

async function parseSignature(bytes: Uint8Array) {
  const text = Buffer.from(bytes.subarray(0, 64)).toString('latin1')
  try {
    return await (text.startsWith('-----BEGIN PGP')
      ? readSignature({ armoredSignature: Buffer.from(bytes).toString() })
      : readSignature({ binarySignature: new Uint8Array(bytes) }))
  } catch (error) {
    throw new Error('it is no PGP signature', { cause: error })
  }
}

function signingKeys(keys: Key[], keyId: Parameters<Key['getKeys']>[0]) {
  const matching = keys.filter(({ revocationSignatures }) => revocationSignatures.length === 0)
  return matching
    .flatMap((key) => key.getKeys(keyId))
    .find((key) => !('revocationSignatures' in key) || key.revocationSignatures.length === 0)
}
