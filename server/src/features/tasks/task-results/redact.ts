const HIDDEN = '[redacted]'
const SECRET_HEADERS = new Set(['set-cookie', 'authorization', 'proxy-authorization', 'www-authenticate', 'cookie'])

/** Text with a secret taken out, wherever it stands in it. */
export function redactText(text: string, secret: string) {
  return text.replaceAll(secret, HIDDEN)
}

/** The same for headers, of which some are secret as a whole. */
export function redactHeaders(headers: Record<string, string | string[]>, secret: string) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (SECRET_HEADERS.has(name.toLowerCase())) return [name, HIDDEN]
      return [name, Array.isArray(value) ? value.map((text) => redactText(text, secret)) : redactText(value, secret)]
    }),
  )
}

/** The same for bytes that may not be text. */
export function redactBytes(bytes: Buffer, secret: string) {
  return bytes.includes(secret) ? Buffer.from(redactText(bytes.toString('latin1'), secret), 'latin1') : bytes
}
