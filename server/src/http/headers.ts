/**
 * Headers of every response. Clients of the public API read the first four off any of them: the command line refuses a
 * `cloud` block below API version 2.5, and takes the digits after the `v` of X-TFE-Version for the release that decides
 * about structured output.
 */
export const BASE_HEADERS = {
  'tfp-api-version': '2.6',
  'tfp-appname': 'Groundstate',
  'x-tfe-version': 'v202611-1',
  'x-tfe-current-version': 'v202611-1',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const

/** What a page gets besides: nobody may frame it or keep a handle on its window, and it needs no device. */
export const PAGE_HEADERS = {
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const

export const JSON_API_TYPE = 'application/vnd.api+json'
