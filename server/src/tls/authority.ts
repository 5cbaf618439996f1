import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'
import { makeDirectory } from '../directory.ts'
import { ignoring } from '../error-code.ts'
import type { Tls } from './tls.ts'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 86_400_000
/** Browsers accept server certificates valid for up to 398 days, Apple's systems up to 825. */
const LEAF_DAYS = 397
const AUTHORITY_DAYS = 3650
/** Remaining validity below which a certificate is renewed at start. */
const RENEW_BEFORE_DAYS = 30

/**
 * A certificate for the names of this machine, signed by a local authority (`ca.pem`) that is created in `directory` on first use and that
 * clients must trust. Certificates are renewed at start by the same authority.
 */
export async function localCertificate(directory: string, hosts: readonly string[]): Promise<Tls> {
  x509.cryptoProvider.set(globalThis.crypto)
  await makeDirectory(directory, 0o700)
  const caFile = join(directory, 'ca.pem')
  const authority = (await readPair(directory, 'ca')) ?? (await createAuthority(directory))
  const names = [
    ...new Set(['localhost', '127.0.0.1', '::1', hostname(), ...hosts.filter((host) => !isWildcard(host))]),
  ]
  const existing = await readPair(directory, 'server')
  const isValid = existing && isUsable(existing.certificate, authority.certificate, names)
  const leaf = isValid ? existing : await createLeaf(directory, authority, names)
  return { cert: `${leaf.certPem}\n${authority.certPem}\n`, key: leaf.keyPem, caFile }
}

type Pair = { certPem: string; keyPem: string; certificate: x509.X509Certificate }

function isWildcard(host: string) {
  return host === '0.0.0.0' || host === '::'
}

async function readPair(directory: string, name: string): Promise<Pair | undefined> {
  const certPem = await ignoring('ENOENT', readFile(join(directory, `${name}.pem`), 'utf8'))
  const keyPem = await ignoring('ENOENT', readFile(join(directory, `${name}-key.pem`), 'utf8'))
  if (certPem === undefined || keyPem === undefined) return undefined
  return { certPem, keyPem, certificate: new x509.X509Certificate(certPem) }
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

/** Properties of every certificate. */
function validFor(days: number) {
  const now = Date.now()
  return {
    serialNumber: serial(),
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + days * DAY_MS),
    signingAlgorithm: ALGORITHM,
  }
}

async function createAuthority(directory: string) {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validFor(AUTHORITY_DAYS),
    // The suffix distinguishes installations on one machine.
    name: `CN=Groundstate local authority ${hostname()} ${serial().slice(0, 8)}`,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return writePair(directory, 'ca', certificate, keys.privateKey)
}

async function createLeaf(directory: string, authority: Pair, names: readonly string[]) {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const authorityKey = x509.PemConverter.decodeFirst(authority.keyPem)
  const signingKey = await webcrypto.subtle.importKey('pkcs8', authorityKey, ALGORITHM, false, ['sign'])
  const certificate = await x509.X509CertificateGenerator.create({
    ...validFor(LEAF_DAYS),
    subject: 'CN=Groundstate',
    issuer: authority.certificate.subject,
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

/** A random positive number in hex. */
function serial() {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16)).map((byte, at) => (at === 0 ? byte & 0x7f : byte))
  return Buffer.from(bytes).toString('hex')
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
  await writeAtomically(join(directory, `${name}-key.pem`), `${keyPem}\n`, 0o600)
  await writeAtomically(join(directory, `${name}.pem`), `${certPem}\n`, 0o644)
  return { certPem, keyPem, certificate }
}

async function writeAtomically(path: string, text: string, mode: number) {
  await writeFile(`${path}.new`, text, { mode, flush: true })
  await rename(`${path}.new`, path)
}
