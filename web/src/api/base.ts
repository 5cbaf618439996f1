/** The path under which the application is served, with a slash at its end: `/`, or `/groundstate/` behind a proxy. */
export const BASE = typeof document === 'undefined' ? '/' : new URL(document.baseURI).pathname

/** The address of a path of this server: `serverPath('/docs/api')`. */
export function serverPath(path: string) {
  return `${BASE}${path.replace(/^\//, '')}`
}

/** The nonce that the server's content security policy requires of styles added at run time. */
export const STYLE_NONCE =
  typeof document === 'undefined'
    ? ''
    : (document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? '')
