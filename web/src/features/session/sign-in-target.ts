import { serverPath } from '../../api/base.ts'

/**
 * Where a sign-in leads: to a path of the application only, since `next` comes from outside. A browser takes a backslash
 * for a slash and leaves out tabs and line breaks, so that `/\t/example.org` would lead to another host.
 */
export function signInTarget(next: string | undefined) {
  return serverPath(next !== undefined && /^\/(?![/\\])[^\s\\]*$/.test(next) ? next : '/app')
}
