import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '@groundstate/agent/process/errors'
import { type Config, ConfigError } from '../config.ts'
import { makeDataDirectory } from '../directory.ts'

export type Tls = {
  cert: string
  key: string
  /** Certificate of the local authority that clients must trust; undefined for certificates from files. */
  caFile: string | undefined
}

/** The configured certificate; undefined if TLS is off. Throws a `ConfigError` for unreadable files. */
export async function loadTls(config: Config): Promise<Tls | undefined> {
  if (config.tls === 'off') return undefined
  if (config.tls === 'auto') {
    // Lazy, since the X.509 library adds about 50 ms to a start.
    const { localCertificate } = await import('./authority.ts')
    const hosts = [config.host, ...(config.baseUrl === undefined ? [] : [new URL(config.baseUrl).hostname])]
    await makeDataDirectory(config.dataDir, 'tls')
    return localCertificate(join(config.dataDir, 'tls'), hosts)
  }
  const { tlsCert, tlsKey } = config
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new ConfigError('GROUNDSTATE_TLS is files, but no file is set', {
      advice: 'set GROUNDSTATE_TLS_CERT and GROUNDSTATE_TLS_KEY to PEM files',
    })
  }
  const read = async (setting: string, path: string) =>
    readFile(path, 'utf8').catch((cause: unknown) => {
      throw new ConfigError(`${setting} ${path}: ${reasonOf(cause)}`, {
        cause,
        advice: 'it must be a readable PEM file',
      })
    })
  return {
    cert: await read('GROUNDSTATE_TLS_CERT', tlsCert),
    key: await read('GROUNDSTATE_TLS_KEY', tlsKey),
    caFile: undefined,
  }
}
