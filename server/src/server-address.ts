/** What the paths of this server begin with. */
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
  'healthz',
  'metrics',
  'oauth',
  'readyz',
]

/** Why an address can't be that of the server; undefined when it can. Its path must be told apart from the server's own. */
export function addressProblem(address: string): string | undefined {
  const { pathname, search, hash } = new URL(address)
  const [first = ''] = pathname.slice(1).split('/')
  if (search !== '' || hash !== '') return 'it must end with its path, without ? and #'
  if (!/^(?:\/[\w.~-]+)*\/?$/.test(pathname))
    return `its path ${pathname} must be made of letters, digits, -, ., _ and ~`
  if (OWN_PATHS.includes(first)) return `its path begins with /${first}, which this server uses itself: choose another`
  return undefined
}
