import type { TestApp } from '../../../../testing/app.ts'

/** A function that sends a request to the public API with a user's token, and data if there is any. */
export function sender(app: TestApp) {
  return (token: string, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, data?: object) =>
    app.request({ method, url: `/api/v2${path}`, token, ...(data && { body: { data } }) })
}
