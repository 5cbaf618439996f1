import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

/** Parameters of the OWASP Password Storage Cheat Sheet for scrypt, with 32 MB per hash. `ln` is log2 of N. */
const COST = { ln: 15, r: 8, p: 3 }
const HASH_BYTES = 32

/**
 * The scrypt hash of a password with its salt and parameters: `$scrypt$ln=15,r=8,p=3$salt$hash`. Takes about 100 ms on the thread pool. Unicode
 * forms of a password are equal. `cost` is for tests.
 */
export async function hashPassword(password: string, cost = COST): Promise<string> {
  const salt = randomBytes(16)
  const hash = await scryptHash(password, salt, cost, HASH_BYTES)
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${salt.toString('base64url')}$${hash.toString('base64url')}`
}

/** Whether the password matches the hash. Without a hash (an unknown user) it takes as long, so timing does not reveal who has an account. */
export async function verifyPassword(password: string, stored: string | undefined): Promise<boolean> {
  const parts = parseHash(stored ?? '')
  if (!parts) {
    await scryptHash(password, Buffer.alloc(16), COST, HASH_BYTES)
    return false
  }
  return timingSafeEqual(await scryptHash(password, parts.salt, parts.cost, parts.hash.length), parts.hash)
}

function parseHash(stored: string) {
  const match = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w-]{16,})\$([\w-]{32,})$/.exec(stored)
  if (!match) return undefined
  const [, ln, r, p, salt = '', hash = ''] = match
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) }
  return { cost, salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(hash, 'base64url') }
}

function scryptHash(password: string, salt: Buffer, { ln, r, p }: typeof COST, bytes: number) {
  const N = 2 ** ln
  return derive(password.normalize('NFKC'), salt, bytes, { N, r, p, maxmem: 2 * 128 * N * r })
}
