export const OWN_PATHS: readonly string[] = [
  '.well-known',
  '_objects',
  '_sample',
  'agent',
  'api',
  'app',
  'assets',
  'auth',
  'avatars',
  'docs',
  'github-app',
  'healthz',
  'metrics',
  'oauth',
  'readyz',
  'webhooks',
]

/** Reason why a URL cannot be the server's base URL; undefined if it can. */
export function addressProblem(address: string): string | undefined {
  const { pathname, search, hash } = new URL(address)
  const [first = ''] = pathname.slice(1).split('/')
  if (search !== '' || hash !== '') return 'it must end with its path, without ? and #'
  if (!/^(?:\/[\w.~-]+)*\/?$/.test(pathname))
    return `its path ${pathname} must be made of letters, digits, -, ., _ and ~`
  if (OWN_PATHS.includes(first)) return `its path begins with /${first}, which this server uses itself: choose another`
  return undefined
}

/**
 * Reason why a URL cannot be the issuer of tokens; undefined if it can. Verifiers compare issuers as text, so it must be written in one way only
 * (OpenID Connect Discovery 1.0 §4.3).
 */
export function issuerProblem(address: string): string | undefined {
  const url = URL.parse(address)
  if (url?.protocol !== 'https:') return 'it must be an address that begins with https://'
  if (url.username !== '' || url.password !== '') return 'it must not have a user or password'
  if (address.includes('?') || address.includes('#')) return 'it must end with its path, without ? and #'
  if (address.endsWith('/')) return 'it must not end with /'
  const canonical = url.href.replace(/\/$/, '')
  return address === canonical ? undefined : `it must be written as ${canonical}`
}
