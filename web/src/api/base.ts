/** The path under which the application is served, with a slash at its end: `/`, or `/groundstate/` behind a proxy. */
export const BASE = typeof document === 'undefined' ? '/' : new URL(document.baseURI).pathname

/** The address of a path of this server: `serverPath('/docs/api')`. */
export function serverPath(path: string) {
  return `${BASE}${path.replace(/^\//, '')}`
}
