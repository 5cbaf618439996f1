import { html } from './html-page.ts'
import type { ApiResponse } from './responses.ts'
import { PAGE_HEADERS } from './write.ts'

/** The content security policy of the page: its script may talk to this server only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // The script contains its own style.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/**
 * Settings of the reader. They turn off all that contacts other servers, and the "try it" requests, which would carry
 * the session's cookie.
 */
const SETTINGS = JSON.stringify({
  hideTestRequestButton: true,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  defaultOpenFirstTag: false,
  // The accents of the web application.
  customCss: '.light-mode { --scalar-color-accent: #4338ca } .dark-mode { --scalar-color-accent: #8f8bff }',
})

/**
 * The OpenAPI document as an HTML page. Addresses are relative to `url`, the URL of the request, so that they work
 * behind a proxy's prefix.
 */
export function openApiPage(url: string): ApiResponse {
  const root = /^[^?]*\/(?:\?|$)/.test(url) ? '../..' : '..'
  const document = `${root}/api/v2/openapi.json`
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>API · Groundstate</title>
      </head>
      <body>
        <noscript>This page needs JavaScript. The same for programs: <a href="${document}">openapi.json</a></noscript>
        <script type="text/plain" id="api-reference" data-url="${document}" data-configuration="${SETTINGS}"></script>
        <script src="${root}/docs/api/reader.js"></script>
      </body>
    </html>`
  return {
    status: 200,
    headers: { ...PAGE_HEADERS, 'content-security-policy': POLICY },
    content: { type: 'text/html; charset=utf-8', data: page.markup },
  }
}
