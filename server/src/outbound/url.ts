import { isIP } from 'node:net'
import { type AddressRule, addressProblem } from './addresses.ts'

/** The host of a URL without the brackets of an IPv6 address. */
export function urlHostname(url: URL) {
  return url.hostname.replace(/^\[(.+)\]$/, '$1')
}

/**
 * Why no request may go to the URL, as far as that is known without a DNS lookup; undefined when one may. Of the ports
 * below 1024, only those of the web are allowed on the public internet.
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
