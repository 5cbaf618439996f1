import { openSession } from '../features/identity/sessions/service.ts'
import { findUser } from '../features/identity/users/store.ts'
import type { TestApp, TestRequest, TestResponse } from './app.ts'

/** Sends requests as a browser does: with the session's cookie and our own origin. */
export type TestBrowser = { cookie: string; request: (options: TestRequest) => Promise<TestResponse> }

/** A browser in which the user is signed in; no password is needed. */
export async function createBrowser(app: TestApp, userId: string): Promise<TestBrowser> {
  const user = await findUser(app.db, userId)
  if (!user) throw new Error(`there is no user ${userId}`)
  const { setCookie } = await openSession(app.as(), user)
  return browserWith(app, cookieOf(setCookie))
}

export function browserWith(app: TestApp, cookie: string): TestBrowser {
  return {
    cookie,
    request: (options) =>
      app.request({ ...options, headers: { cookie, origin: 'http://groundstate.test', ...options.headers } }),
  }
}

/** The `name=value` part of a `Set-Cookie` header. */
export function cookieOf(header: TestResponse['headers'][string]) {
  return String(header).split(';', 1)[0] ?? ''
}

/** A form's body and its content type. */
export function form(fields: Record<string, string>): Pick<TestRequest, 'method' | 'body' | 'headers'> {
  return {
    method: 'POST',
    body: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }
}
