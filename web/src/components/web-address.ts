/** A receiver may send any text as an address, including `javascript:`. */
export function isWebAddress(url: string) {
  return ['http:', 'https:'].includes(URL.parse(url)?.protocol ?? '')
}
