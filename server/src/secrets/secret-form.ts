export const SECRET_BYTES = 32
/** The required form of a secret, for messages. */
export const SECRET_FORM = `${SECRET_BYTES} bytes, as 64 hex digits or as base64`

/** The bytes of a secret given as text; undefined when its form is wrong. */
export function secretBytes(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  const bytes = Buffer.from(trimmed, 'base64')
  return /^[A-Za-z0-9+/_-]+=?$/.test(trimmed) && bytes.length === SECRET_BYTES ? bytes : undefined
}
