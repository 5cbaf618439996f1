import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { ConfigError } from '../config.ts'

export type Tls = {
  cert: string
  key: string
  /** The local authority that clients must trust; undefined when the certificate comes from files. */
  caFile: string | undefined
}

/**
 * The certificate to serve with, as the setting `TLS` says; undefined when TLS is off. Throws a `ConfigError` for
 * unreadable files.
 */
export async function loadTls(config: Config): Promise<Tls | undefined> {
  if (config.tls === 'off') return undefined
  if (config.tls === 'auto') {
    // Imported only when needed: the X.509 library would add about 50 ms to every start.
    const { localCertificate } = await import('./authority.ts')
    const hosts = [config.host, ...(config.baseUrl === undefined ? [] : [new URL(config.baseUrl).hostname])]
    return localCertificate(join(config.dataDir, 'tls'), hosts)
  }
  const { tlsCert, tlsKey } = config
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new ConfigError('GROUNDSTATE_TLS is files, and no file is named', {
      advice: 'GROUNDSTATE_TLS_CERT and GROUNDSTATE_TLS_KEY must name PEM files',
    })
  }
  const read = async (setting: string, path: string) =>
    readFile(path, 'utf8').catch((cause: unknown) => {
      const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
      const reason = isMissing ? 'there is no such file' : `can't be read: ${String(cause)}`
      throw new ConfigError(`${setting} ${path}: ${reason}`, {
        cause,
        advice: 'name a PEM file that the server may read',
      })
    })
  return {
    cert: await read('GROUNDSTATE_TLS_CERT', tlsCert),
    key: await read('GROUNDSTATE_TLS_KEY', tlsKey),
    caFile: undefined,
  }
}
