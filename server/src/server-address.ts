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
