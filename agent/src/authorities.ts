import tls from 'node:tls'

/** The certificate authorities that are trusted anyway, as PEM; of an older Node those that it brings with it. */
export function knownAuthorities(): readonly string[] {
  const { getCACertificates, rootCertificates }: Partial<typeof tls> = tls
  return getCACertificates?.('default') ?? rootCertificates ?? []
}
