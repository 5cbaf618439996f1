const HIDDEN = '[redacted]'
const SECRET_HEADERS = new Set(['set-cookie', 'authorization', 'proxy-authorization', 'www-authenticate', 'cookie'])

/** Replaces every occurrence of a secret. */
export function redactText(text: string, secret: string) {
  return text.replaceAll(secret, HIDDEN)
}

/** As `redactText`, for headers. Some headers are hidden as a whole. */
export function redactHeaders(headers: Record<string, string | string[]>, secret: string) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (SECRET_HEADERS.has(name.toLowerCase())) return [name, HIDDEN]
      return [name, Array.isArray(value) ? value.map((text) => redactText(text, secret)) : redactText(value, secret)]
    }),
  )
}

/** As `redactText`, for bytes that may not be text. */
export function redactBytes(bytes: Buffer, secret: string) {
  return bytes.includes(secret) ? Buffer.from(redactText(bytes.toString('latin1'), secret), 'latin1') : bytes
}
