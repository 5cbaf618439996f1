import { isIP } from 'node:net'
import { type AddressRule, addressProblem } from './addresses.ts'

/** The host of a URL as the network knows it: an IPv6 literal without its brackets. */
export function urlHostname(url: URL) {
  return url.hostname.replace(/^\[(.+)\]$/, '$1')
}

/**
 * Why no request may go to the URL, or undefined when it may, as far as that shows without asking for the name's
 * addresses. On the open internet the ports below 1024 belong to other protocols, except the web's own.
 */
export function urlProblem(text: string, rule: AddressRule): string | undefined {
  const url = URL.parse(text)
  if (!url) return `${JSON.stringify(text)} is no URL`
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    const start = url.href.startsWith(`${url.protocol}//`) ? `${url.protocol}//` : url.protocol
    return `the URL begins with ${start}, it must begin with https:// or http://`
  }
  if (url.username !== '' || url.password !== '') return 'the URL must not carry a user name or password'
  const port = url.port === '' ? undefined : Number(url.port)
  if (port === 0) return 'no request can go to port 0'
  if (!rule.allowPrivate && port !== undefined && port < 1024 && port !== 80 && port !== 443) {
    return `port ${port} is not one for web requests: 80, 443 and those from 1024 up are`
  }
  const host = urlHostname(url)
  return isIP(host) === 0 ? undefined : addressProblem(host, rule)
}
