export const SECRET_BYTES = 32
/** What a secret must be, for messages. */
export const SECRET_FORM = `${SECRET_BYTES} bytes, as 64 hex digits or as base64`

/** The bytes of a written secret; undefined when it is of another form. */
export function secretBytes(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  const bytes = Buffer.from(trimmed, 'base64')
  return /^[A-Za-z0-9+/_-]+=?$/.test(trimmed) && bytes.length === SECRET_BYTES ? bytes : undefined
}
