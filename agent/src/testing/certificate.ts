import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryDirectory } from './agent-fixture.ts'

/** A self-signed certificate for a name such as `IP:127.0.0.1` or `DNS:groundstate.invalid`; `file` is its path. */
export async function makeCertificate(name: string): Promise<{ file: string; cert: string; key: string }> {
  const directory = await temporaryDirectory()
  const [key, file] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
  const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test'.split(' ')
  execFileSync('openssl', [...request, '-addext', `subjectAltName=${name}`, '-keyout', key, '-out', file], {
    stdio: 'ignore',
  })
  return { file, cert: await readFile(file, 'utf8'), key: await readFile(key, 'utf8') }
}
