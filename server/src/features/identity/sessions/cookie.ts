import { SESSION_COOKIE } from '../../../auth/authenticate.ts'
import { basePath } from '../../../http/base-path.ts'

/**
 * The cookie that carries a session. Scripts cannot read it, and browsers do not send it when another site posts to us.
 */
export function sessionCookieHeader(baseUrl: string, value: string, maxAgeSeconds: number) {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : ''
  return `${SESSION_COOKIE}=${value}; Path=${basePath(baseUrl) || '/'}; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`
}

export function endedCookieHeader(baseUrl: string) {
  return sessionCookieHeader(baseUrl, '', 0)
}
