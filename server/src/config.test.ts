import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AGENT_SETTINGS } from '@groundstate/agent/settings/agent-settings'
import { settingsTable } from '@groundstate/agent/settings/setting'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ConfigError, isOnLoopback, readConfig } from './config.ts'
import { SETTINGS } from './settings.ts'
import { localCertificate } from './tls/authority.ts'

describe('settings', () => {
  test('everything has a default, so that an empty environment starts a server', () => {
    expect(readConfig({})).toMatchObject({ port: 7777, host: '127.0.0.1', edition: 'self-managed', tls: 'off' })
  })

  test('a GitHub App needs all of its settings', () => {
    const env = { GROUNDSTATE_GITHUB_APP_ID: '29310', GROUNDSTATE_GITHUB_APP_SLUG: 'groundstate' }

    expect(() => readConfig(env)).toThrow(
      ['CLIENT_ID', 'CLIENT_SECRET', 'WEBHOOK_SECRET', 'PRIVATE_KEY_FILE']
        .map((name) => `GROUNDSTATE_GITHUB_APP_${name}: it must be set when GROUNDSTATE_GITHUB_APP_ID is`)
        .join('\n'),
    )
  })

  test.each([
    ['S3_ENDPOINT', 'http://minio:9000', 'GROUNDSTATE_S3_BUCKET'],
    ['S3_REGION', 'eu-central-1', 'GROUNDSTATE_S3_BUCKET'],
    ['S3_ADDRESSING', 'path', 'GROUNDSTATE_S3_BUCKET'],
    ['S3_PREFIX', 'a/', 'GROUNDSTATE_S3_BUCKET'],
    ['S3_ACCESS_KEY_ID', 'k', 'GROUNDSTATE_S3_BUCKET'],
    ['S3_SECRET_ACCESS_KEY', 's', 'GROUNDSTATE_S3_BUCKET'],
    ['S3_SESSION_TOKEN', 't', 'GROUNDSTATE_S3_BUCKET'],
    ['TLS_CERT', '/tls.crt', 'GROUNDSTATE_TLS=files'],
    ['TLS_KEY', '/tls.key', 'GROUNDSTATE_TLS=files'],
    ['OIDC_CLIENT_ID', 'id', 'GROUNDSTATE_OIDC_ISSUER'],
    ['OIDC_CLIENT_SECRET', 's', 'GROUNDSTATE_OIDC_ISSUER'],
    ['OIDC_NAME', 'Example ID', 'GROUNDSTATE_OIDC_ISSUER'],
    ['OIDC_SCOPES', 'openid', 'GROUNDSTATE_OIDC_ISSUER'],
    ['OIDC_GROUP_CLAIM', 'teams', 'GROUNDSTATE_OIDC_ISSUER'],
    ['GITHUB_APP_SLUG', 'groundstate', 'GROUNDSTATE_GITHUB_APP_ID'],
    ['GITHUB_APP_PRIVATE_KEY', 'k', 'GROUNDSTATE_GITHUB_APP_ID'],
    ['DATABASE_DIRECT_URL', 'postgresql://h/d', 'GROUNDSTATE_DATABASE_URL'],
  ])('%s alone is refused, not ignored', (name, value, needed) => {
    const variable = `GROUNDSTATE_${name}`

    expect(() => readConfig({ [variable]: value })).toThrow(`${variable}: it has no effect without ${needed}`)
  })

  test('a session token needs its access key', () => {
    const read = () => readConfig({ GROUNDSTATE_S3_BUCKET: 'b', GROUNDSTATE_S3_SESSION_TOKEN: 't' })

    expect(read).toThrow('GROUNDSTATE_S3_SESSION_TOKEN: it has no effect without GROUNDSTATE_S3_ACCESS_KEY_ID')
  })

  test('a flag that has no effect is named as such', () => {
    const read = () => readConfig({}, { s3Endpoint: 'http://minio:9000' })

    expect(read).toThrow('--s3-endpoint: it has no effect without GROUNDSTATE_S3_BUCKET')
  })

  test('settings of a bucket are valid while its blobs are moved to disk', () => {
    const env = { GROUNDSTATE_BLOB_STORE: 'disk', GROUNDSTATE_S3_BUCKET: 'b', GROUNDSTATE_S3_ENDPOINT: 'http://minio' }

    expect(readConfig(env)).toMatchObject({ blobStore: 'disk', s3Bucket: 'b' })
  })

  test('variables of other programs need no bucket', () => {
    const env = { AWS_REGION: 'eu-central-1', AWS_ROLE_ARN: 'arn:aws:iam::1:role/r' }

    expect(readConfig(env).s3Region).toBe('eu-central-1')
  })

  test.each([
    ['1', 1],
    ['on', 1],
    ['true', 1],
    ['0', 0],
    ['off', 0],
    ['no', 0],
  ])('the built-in agent is switched by %s, as by other switches', (text, agents) => {
    expect(readConfig({ GROUNDSTATE_AGENTS: text }).agents).toBe(agents)
  })

  test('a number of built-in agents is refused with what is accepted', () => {
    expect(() => readConfig({ GROUNDSTATE_AGENTS: '2' })).toThrow(
      'GROUNDSTATE_AGENTS "2": it must be on or off, or 1 or 0',
    )
  })

  test('an empty variable counts as one that is not set', () => {
    expect(readConfig({ GROUNDSTATE_PORT: '', GROUNDSTATE_DATABASE_URL: '' })).toMatchObject({ port: 7777 })
  })

  test('an empty flag counts as not set, and so does the variable that it replaces', () => {
    const env = { GROUNDSTATE_PORT: '8080', GROUNDSTATE_DATABASE_URL: 'postgresql://h/d', GROUNDSTATE_RATE_LIMIT: '5' }
    const names = ['port', 'dataDir', 'databaseUrl', 'baseUrl', 'rateLimit', 'planRetentionDays', 's3Bucket', 'hooks']
    const flags = Object.fromEntries(names.map((name) => [name, '']))

    const config = readConfig(env, flags)

    expect(Object.fromEntries(names.map((name) => [name, config[name as keyof typeof config]]))).toEqual(
      Object.fromEntries(names.map((name) => [name, readConfig({})[name as keyof typeof config]])),
    )
  })

  test('the password in an address is not shown', () => {
    const read = () => readConfig({ GROUNDSTATE_TERRAFORM_MIRROR: 'https://bob:s3cret@mirror.example' })

    expect(read).toThrow(/^[^]*GROUNDSTATE_TERRAFORM_MIRROR: it must be an address [^]*without a user name/)
    expect(read).not.toThrow('s3cret')
  })

  test('a file of keys is read only where engines are downloaded', () => {
    expect(readConfig({ GROUNDSTATE_ENGINE_KEY_FILE: '/nope' }).engineKeyFile).toBe('/nope')
  })

  test('every invalid setting is named', () => {
    const read = () => readConfig({ GROUNDSTATE_PORT: 'http', GROUNDSTATE_EDITION: 'pro' })

    expect(read).toThrow(ConfigError)
    expect(read).toThrow(/GROUNDSTATE_PORT[\s\S]*GROUNDSTATE_EDITION/)
  })

  test.each([
    ['PORT', 'abc', 'GROUNDSTATE_PORT "abc": it must be a whole number from 0 to 65535'],
    ['PORT', '1.5', 'GROUNDSTATE_PORT "1.5": it must be a whole number from 0 to 65535'],
    ['BASE_URL', 'foo', 'GROUNDSTATE_BASE_URL "foo": it must be an address that begins with http:// or https://'],
    ['BASE_URL', 'https://x.example/?a=b', 'GROUNDSTATE_BASE_URL "https://x.example/?a=b": it must end with its path'],
    [
      'BASE_URL',
      'https://x.example/a b',
      'GROUNDSTATE_BASE_URL "https://x.example/a b": its path /a%20b must be made of',
    ],
    ['BASE_URL', 'https://x.example/app', 'GROUNDSTATE_BASE_URL "https://x.example/app": its path begins with /app'],
    [
      'ISSUER_URL',
      'http://x.example',
      'ISSUER_URL "http://x.example": it must be an address that begins with https://',
    ],
    ['ISSUER_URL', 'x.example', 'ISSUER_URL "x.example": it must be an address that begins with https://'],
    ['ISSUER_URL', 'https://x.example/', 'ISSUER_URL "https://x.example/": it must not end with /'],
    ['ISSUER_URL', 'https://x.example/a?b', 'ISSUER_URL "https://x.example/a?b": it must end with its path'],
    ['ISSUER_URL', 'https://x.example#', 'ISSUER_URL "https://x.example#": it must end with its path'],
    ['ISSUER_URL', 'https://u:p@x.example', 'it must not have a user or password'],
    ['ISSUER_URL', 'https://X.example:443/a', 'it must be written as https://x.example/a'],
    ['TLS', 'on', 'GROUNDSTATE_TLS "on": it must be one of off, auto, files'],
    ['DATABASE_URL', 'postgres://a:b@%zz/d', 'GROUNDSTATE_DATABASE_URL: it must be an address such as postgresql://'],
    ['DATABASE_URL', 'postgresql://u:p#a/s@c/d', 'special characters in the user and password are percent-encoded'],
    ['DATABASE_URL', 'mysql://a:b@c/d', 'GROUNDSTATE_DATABASE_URL: it must be an address such as postgresql://'],
    ['SECRET', 'abc', 'GROUNDSTATE_SECRET: it must be 32 bytes, as 64 hex digits or as base64'],
    ['ADMIN_TOKEN', 'abc', 'GROUNDSTATE_ADMIN_TOKEN: it must have at least 16 characters'],
  ])('%s=%s is shown, unless it is a secret, with the valid values', (name, value, problem) => {
    const read = () => readConfig({ [`GROUNDSTATE_${name}`]: value })

    expect(read).toThrow(problem)
    expect(read).not.toThrow(', it')
  })

  test('a database may be named by host, or by the directory of its socket', () => {
    for (const url of [
      'postgres://h/d',
      'postgresql://u:p@h:5432/d?sslmode=require',
      'postgresql://u@/d?host=/run/pg',
      'postgres://u@/d?host=/run/%25x',
      'postgres://h/d?sslmode=require&channel_binding=require&target_session_attrs=any&query_timeout=1000',
    ])
      expect(readConfig({ GROUNDSTATE_DATABASE_URL: url }).databaseUrl).toBe(url)
  })

  test.each([
    ['sslmode=prefer', 'its sslmode must be disable, require, verify-ca or verify-full, not "prefer"'],
    ['sslmode=verify-ca', 'sslmode=verify-ca needs sslrootcert=<PEM file>'],
    ['sslmode=require&sslrootcert=system', 'sslrootcert=system needs sslmode=verify-full, not require'],
    ['sslmode=verify-full&sslrootcert=/nope', 'sslrootcert=/nope: there is no such file'],
    [
      'sslmod=verify-full',
      'its parameter "sslmod" is not supported; those for TLS are sslmode, sslrootcert, sslcert, sslkey',
    ],
    ['SSLMODE=require', 'its parameter "SSLMODE" is not supported'],
    ['ssl_root_cert=ca.pem', 'its parameter "ssl_root_cert" is not supported'],
    ['sslmode=verify-full&sslcrl=/crl.pem', 'its parameter "sslcrl" is not supported'],
    ['schema=public', 'its parameter "schema" is not supported'],
    ['sslmode=verify-full&sslmode=disable', 'it has sslmode twice'],
    ['sslmode=disable&sslrootcert=/ca.pem', 'sslrootcert has no effect with sslmode=disable'],
    ['sslmode=disable&sslnegotiation=direct', 'sslnegotiation has no effect with sslmode=disable'],
    ['sslmode=disable&ssl=true', 'ssl has no effect with sslmode=disable'],
    ['sslmode=require&sslcert=/c.pem', 'sslcert needs sslkey=<PEM file>'],
    ['sslkey=/k.pem', 'sslkey needs sslcert=<PEM file>'],
  ])('a database address with %s is refused', (parameters, problem) => {
    const read = () => readConfig({ GROUNDSTATE_DATABASE_URL: `postgresql://u:s3cret@h/d?${parameters}` })

    expect(read).toThrow(`GROUNDSTATE_DATABASE_URL: ${problem}`)
    expect(read).not.toThrow('s3cret')
  })

  test('the files for TLS of a database address must have a certificate and its key', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'groundstate-address-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const [own, other] = [
      await localCertificate(join(directory, 'own'), []),
      await localCertificate(join(directory, 'other'), []),
    ]
    const save = (name: string, text: string) => {
      writeFileSync(join(directory, name), text)
      return join(directory, name)
    }
    const [cert, key, otherKey] = [save('cert', own.cert), save('key', own.key), save('other-key', other.key)]
    const { privateKey: locked } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
    })
    const broken = save('broken', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
    const lockedKey = save('locked', locked)
    const problemWith = (parameters: string) => {
      try {
        readConfig({ GROUNDSTATE_DATABASE_URL: `postgresql://h/d?sslmode=verify-full&${parameters}` })
        return undefined
      } catch (error) {
        return (error as Error).message.replace('GROUNDSTATE_DATABASE_URL: ', '')
      }
    }

    expect(problemWith(`sslrootcert=${own.caFile ?? ''}&sslcert=${cert}&sslkey=${key}`)).toBeUndefined()
    expect(problemWith(`sslrootcert=${key}`)).toBe(`sslrootcert=${key}: it contains no certificate in PEM form`)
    expect(problemWith(`sslrootcert=${broken}`)).toBe(`sslrootcert=${broken}: it contains no certificate in PEM form`)
    expect(problemWith(`sslcert=${key}&sslkey=${key}`)).toBe(`sslcert=${key}: it contains no certificate in PEM form`)
    expect(problemWith(`sslcert=${cert}&sslkey=${cert}`)).toBe(
      `sslkey=${cert}: it contains no private key in PEM form without a passphrase`,
    )
    expect(problemWith(`sslcert=${cert}&sslkey=${lockedKey}`)).toBe(
      `sslkey=${lockedKey}: it contains no private key in PEM form without a passphrase`,
    )
    expect(problemWith(`sslcert=${cert}&sslkey=${otherKey}`)).toBe(
      `sslkey=${otherKey}: it is not the key of the certificate ${cert}`,
    )
  })

  test.each(['12?s3cret@h/d', '12?s3cret=x@h/d', '12?x&s3cret@h/d'])(
    'a password that is not encoded, as in u:%s, is not shown as a parameter',
    (rest) => {
      const read = () => readConfig({ GROUNDSTATE_DATABASE_URL: `postgresql://u:${rest}` })

      expect(read).toThrow('GROUNDSTATE_DATABASE_URL: it must be an address such as')
      expect(read).not.toThrow('s3cret')
    },
  )

  test('a problem names the source of the value', () => {
    expect(() => readConfig({ GROUNDSTATE_PORT: '80' }, { port: 'abc' })).toThrow(/^--port "abc"/)
  })

  test('a standard variable is the fallback for a setting', () => {
    const env = { HTTPS_PROXY: 'http://theirs:1', GROUNDSTATE_HTTPS_PROXY: 'http://ours:1', no_proxy: 'a.example' }

    expect(readConfig(env)).toMatchObject({ httpsProxy: 'http://ours:1', noProxy: 'a.example' })
    expect(readConfig({ ...env, GROUNDSTATE_HTTPS_PROXY: '' }).httpsProxy).toBe('http://theirs:1')
    expect(readConfig(env, { httpsProxy: 'http://flag:1' }).httpsProxy).toBe('http://flag:1')
  })

  test('a missing file is named', () => {
    const read = () => readConfig({ GROUNDSTATE_ENGINE_DOWNLOADS: 'on', GROUNDSTATE_ENGINE_KEY_FILE: '/nope' })

    expect(read).toThrow('GROUNDSTATE_ENGINE_KEY_FILE /nope: there is no such file')
  })

  test('a misspelled setting is named, not ignored', () => {
    expect(() => readConfig({ GROUNDSTATE_PROT: '80' })).toThrow(
      /^GROUNDSTATE_PROT: there is no such setting; did you mean GROUNDSTATE_PORT\?$/,
    )
    expect(() => readConfig({ GROUNDSTATE_DATADIR: 'x' })).toThrow('did you mean GROUNDSTATE_DATA_DIR?')
    expect(() => readConfig({ GROUNDSTATE_QUUXES: 'x' })).toThrow(/^GROUNDSTATE_QUUXES: there is no such setting$/)
  })

  test('trusted proxies are addresses, networks and names of networks', () => {
    const read = (text: string) => readConfig({ GROUNDSTATE_TRUST_PROXY: text }).trustProxy

    expect(read('loopback, 10.0.0.0/8,fd00::1')).toEqual(['loopback', '10.0.0.0/8', 'fd00::1'])
    expect(() => read('10.0.0.0/8,proxy.example')).toThrow('"proxy.example"')
  })

  test.each([
    [{}, true],
    [{ GROUNDSTATE_BASE_URL: 'http://localhost:7777' }, true],
    [{ GROUNDSTATE_BASE_URL: 'https://groundstate.example' }, false],
    [{ GROUNDSTATE_HOST: '0.0.0.0' }, false],
    [{ GROUNDSTATE_TRUST_PROXY: '127.0.0.1' }, false],
  ])('with %j, whether only this machine can reach the server is %s', (values, expected) => {
    expect(isOnLoopback(readConfig(values))).toBe(expected)
  })

  test('the tables in docs/SETTINGS.md are up to date', async () => {
    const page = await readFile(join(import.meta.dirname, '../../docs/SETTINGS.md'), 'utf8')

    for (const settings of [SETTINGS, AGENT_SETTINGS])
      expect(page, 'run node scripts/write-settings.ts').toContain(settingsTable(settings))
  })
})

test('settings of a standalone agent are ignored', () => {
  const config = readConfig({ GROUNDSTATE_URL: 'x', GROUNDSTATE_AGENT_TOKEN: 'x', GROUNDSTATE_AGENT_SINGLE: '1' })

  expect(config.engineDownloads).toBe(false)
})
