import { storableText } from '@groundstate/contract/storable'
import { type Key, config, createMessage, enums, readKey, readKeys, readSignature, verify } from 'openpgp'
import { messageOf } from '../../../error-code.ts'
import { invalid } from '../../../errors.ts'

const POINTER = '/data/attributes/ascii-armor'
/** Terraform also accepts DSA, which is not accepted by default. */
const CONFIG = { ...config, rejectPublicKeyAlgorithms: new Set([enums.publicKey.elgamal]) }

/** Reads an armored public key. Throws `invalid` for any other text, a private key and an expired or revoked key. */
export async function readPublicKey(armor: string, now: Date) {
  if (/-----BEGIN PGP PRIVATE KEY BLOCK-----/.test(armor))
    throw invalid(
      'ASCII armor is invalid: it is a private key; export the public one with gpg --armor --export',
      POINTER,
    )
  const blocks = armor.match(/-----BEGIN PGP PUBLIC KEY BLOCK-----/g)?.length ?? 0
  if (blocks > 1) throw invalid(`ASCII armor is invalid: it has ${blocks} keys; it must have one`, POINTER)
  const keys: Key[] = await readKeys({ armoredKeys: armor }).catch((error: unknown) => {
    throw invalid(
      `ASCII armor is invalid: it must be a public key, as from gpg --armor --export (${messageOf(error)})`,
      POINTER,
    )
  })
  const [key] = keys
  if (!key || keys.length > 1)
    throw invalid(`ASCII armor is invalid: it has ${keys.length} keys; it must have one`, POINTER)
  if (key.isPrivate()) throw invalid('ASCII armor is invalid: it is a private key; add the public one', POINTER)
  const keyId = keyIdOf(key)
  checkDsa(key)
  const expiry = await key.getExpirationTime(undefined, CONFIG).catch(() => null)
  if (expiry === null) throw invalid(`the key ${keyId} has no valid signature of its owner, or it is revoked`, POINTER)
  const expiresAt = expiry instanceof Date ? expiry : null
  if (expiresAt && expiresAt <= now)
    throw invalid(`the key ${keyId} expired at ${expiresAt.toISOString()}: extend it, and export it again`, POINTER)
  return {
    keyId,
    fingerprint: key.getFingerprint().toUpperCase(),
    userIds: key.getUserIDs().map(storableText),
    expiresAt,
  }
}

/** Limits of a DSA key, since OpenPGP.js verifies its signatures on the event loop: sizes of its numbers in bits (FIPS 186-4), and its packets. */
const MAX_DSA = { p: 3072, q: 256, packets: 40 }

function checkDsa(key: Key) {
  for (const { keyPacket } of [key, ...key.getSubkeys()]) {
    if (keyPacket.algorithm !== enums.publicKey.dsa) continue
    const { p, q } = keyPacket.publicParams as { p: Uint8Array; q: Uint8Array }
    const packets = key.toPacketList().length
    if (p.length * 8 > MAX_DSA.p || q.length * 8 > MAX_DSA.q || packets > MAX_DSA.packets)
      throw invalid(
        `ASCII armor is invalid: a DSA key may have up to ${MAX_DSA.p} bits and ${MAX_DSA.packets} packets; use RSA, or gpg --export-options export-minimal`,
        POINTER,
      )
  }
}

function keyIdOf(key: Key) {
  return key.getKeyID().toHex().toUpperCase()
}

/** Maximum number of signatures of a file: verification takes up to 30 ms each. */
const MAX_SIGNATURES = 10

type Signed = { armor: string; content: Buffer; signature: Buffer; now: Date }

/** Throws `invalid` unless `signature`, detached and binary, is one of `content` by the key. */
export async function checkSignature({ armor, content, signature, now }: Signed) {
  if (signature.subarray(0, 5).toString('latin1') === '-----')
    throw invalid(
      'the signature is armored, which Terraform cannot read: create it with gpg --detach-sign, without --armor',
    )
  const key = await readKey({ armoredKey: armor })
  const parsed = await readSignature({ binarySignature: signature }).catch((error: unknown) => {
    throw invalid(`the signature cannot be read: it must be the output of gpg --detach-sign (${messageOf(error)})`)
  })
  const issuers = parsed.getSigningKeyIDs().map((id) => id.toHex().toUpperCase())
  const known = new Set([key, ...key.getSubkeys()].map((part) => part.getKeyID().toHex().toUpperCase()))
  if (!issuers.some((id) => known.has(id)))
    throw invalid(
      `SHA256SUMS is signed with the key ${issuers.join(', ') || 'of no id'}; it must be signed with ${keyIdOf(key)}, the key of the version`,
    )
  if (parsed.packets.length > MAX_SIGNATURES)
    throw invalid(`the signature has ${parsed.packets.length} signatures; it may have up to ${MAX_SIGNATURES}`)
  const message = await createMessage({ binary: content })
  // One valid signature is sufficient, as for Terraform.
  const { signatures } = await verify({
    message,
    signature: parsed,
    verificationKeys: key,
    date: now,
    config: CONFIG,
    format: 'binary',
  })
  const outcomes = await Promise.allSettled(signatures.map(async ({ verified }) => verified))
  if (outcomes.some(({ status }) => status === 'fulfilled')) return
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  throw invalid(`the signature by ${keyIdOf(key)} does not match SHA256SUMS (${messageOf(failed?.reason)})`)
}
