/** The path under which the application is served, with a trailing slash: `/`, or `/groundstate/` behind a proxy. */
export const BASE = typeof document === 'undefined' ? '/' : new URL(document.baseURI).pathname

/** The URL path of `path` on this server: `serverPath('/docs/api')`. */
export function serverPath(path: string) {
  return `${BASE}${path.replace(/^\//, '')}`
}

export const STYLE_NONCE =
  typeof document === 'undefined'
    ? ''
    : (document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? '')
