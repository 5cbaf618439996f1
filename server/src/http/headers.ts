/**
 * The headers of every response. Clients of the public API read the first four from any response. The command line
 * refuses a `cloud` block below API version 2.5, and reads the number after the `v` of X-TFE-Version as the release
 * that decides about structured output.
 */
export const BASE_HEADERS = {
  'tfp-api-version': '2.6',
  'tfp-appname': 'Groundstate',
  'x-tfe-version': 'v202611-1',
  'x-tfe-current-version': 'v202611-1',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const

/** Additional headers of HTML pages: no frames, no shared window, no devices. */
export const PAGE_HEADERS = {
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const

export const JSON_API_TYPE = 'application/vnd.api+json'
