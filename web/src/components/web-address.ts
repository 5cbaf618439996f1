/** Run tasks may send any text as a URL, including `javascript:`. */
export function isWebAddress(url: string) {
  return ['http:', 'https:'].includes(URL.parse(url)?.protocol ?? '')
}
