import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'
import { makeDirectory } from '../directory.ts'
import { codeOf } from '../error-code.ts'
import type { Tls } from './tls.ts'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 86_400_000
/** Apple's systems refuse server certificates valid for more than 825 days; for browsers the limit is 398. */
const LEAF_DAYS = 397
const AUTHORITY_DAYS = 3650
/** At start, a certificate that is valid for fewer days is replaced. */
const RENEW_BEFORE_DAYS = 30

/**
 * A certificate for the names of this machine, signed by a local authority that is created in `directory` on first use.
 * Clients trust the authority once (`ca.pem`). Certificates are renewed at start, under the same authority.
 */
export async function localCertificate(directory: string, hosts: readonly string[]): Promise<Tls> {
  x509.cryptoProvider.set(globalThis.crypto)
  await makeDirectory(directory, 0o700)
  const caFile = join(directory, 'ca.pem')
  const authority = (await readPair(directory, 'ca')) ?? (await makeAuthority(directory))
  const names = [
    ...new Set(['localhost', '127.0.0.1', '::1', hostname(), ...hosts.filter((host) => !isWildcard(host))]),
  ]
  const present = await readPair(directory, 'server')
  const usable = present && isUsable(present.certificate, authority.certificate, names)
  const leaf = usable ? present : await makeLeaf(directory, authority, names)
  return { cert: `${leaf.certPem}\n${authority.certPem}\n`, key: leaf.keyPem, caFile }
}

type Pair = { certPem: string; keyPem: string; certificate: x509.X509Certificate }

function isWildcard(host: string) {
  return host === '0.0.0.0' || host === '::'
}

async function readPair(directory: string, name: string): Promise<Pair | undefined> {
  try {
    const certPem = await readFile(join(directory, `${name}.pem`), 'utf8')
    const keyPem = await readFile(join(directory, `${name}-key.pem`), 'utf8')
    return { certPem, keyPem, certificate: new x509.X509Certificate(certPem) }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function isUsable(leaf: x509.X509Certificate, authority: x509.X509Certificate, names: readonly string[]) {
  const covered = new Set(
    leaf
      .getExtension(x509.SubjectAlternativeNameExtension)
      ?.names.toJSON()
      .map((name) => name.value.toLowerCase()),
  )
  return (
    leaf.issuer === authority.subject &&
    leaf.notAfter.getTime() - Date.now() > RENEW_BEFORE_DAYS * DAY_MS &&
    names.every((name) => covered.has(name.toLowerCase()))
  )
}

async function makeAuthority(directory: string) {
  const keys = await makeKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    // The name tells installations on one machine apart.
    name: `CN=Groundstate local authority ${hostname()} ${serial().slice(0, 8)}`,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + AUTHORITY_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return writePair(directory, 'ca', certificate, keys.privateKey)
}

async function makeLeaf(directory: string, authority: Pair, names: readonly string[]) {
  const keys = await makeKeys()
  const signingKey = await webcrypto.subtle.importKey(
    'pkcs8',
    x509.PemConverter.decodeFirst(authority.keyPem),
    ALGORITHM,
    false,
    ['sign'],
  )
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: 'CN=Groundstate',
    issuer: authority.certificate.subject,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + LEAF_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((name) => ({ type: isIP(name) === 0 ? 'dns' : 'ip', value: name })),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(authority.certificate.publicKey),
    ],
  })
  return writePair(directory, 'server', certificate, keys.privateKey)
}

async function makeKeys() {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
}

function serial() {
  return Buffer.from(
    webcrypto.getRandomValues(new Uint8Array(16)).map((byte, at) => (at === 0 ? byte & 0x7f : byte)),
  ).toString('hex')
}

/** Writes the key before the certificate, so that every certificate has its key even if the process is killed. */
async function writePair(
  directory: string,
  name: string,
  certificate: x509.X509Certificate,
  key: webcrypto.CryptoKey,
): Promise<Pair> {
  const certPem = certificate.toString('pem')
  const keyPem = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')
  await writeWhole(join(directory, `${name}-key.pem`), `${keyPem}\n`, 0o600)
  await writeWhole(join(directory, `${name}.pem`), `${certPem}\n`, 0o644)
  return { certPem, keyPem, certificate }
}

async function writeWhole(path: string, text: string, mode: number) {
  await writeFile(`${path}.new`, text, { mode, flush: true })
  await rename(`${path}.new`, path)
}
