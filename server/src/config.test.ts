import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ConfigError, readConfig } from './config.ts'
import { settingsTable } from './settings-table.ts'

describe('settings', () => {
  test('everything has a default, so that an empty environment starts a server', () => {
    expect(readConfig({})).toMatchObject({ port: 7777, host: '127.0.0.1', edition: 'self-managed', tls: 'off' })
  })

  test('an empty variable counts as one that is not set', () => {
    expect(readConfig({ GROUNDSTATE_PORT: '', GROUNDSTATE_DATABASE_URL: '' })).toMatchObject({ port: 7777 })
  })

  test('every setting that cannot be read is named', () => {
    const read = () => readConfig({ GROUNDSTATE_PORT: 'http', GROUNDSTATE_EDITION: 'pro' })

    expect(read).toThrow(ConfigError)
    expect(read).toThrow(/GROUNDSTATE_PORT[\s\S]*GROUNDSTATE_EDITION/)
  })

  test('a misspelled setting is named, not ignored', () => {
    expect(() => readConfig({ GROUNDSTATE_PROT: '80' })).toThrow('GROUNDSTATE_PROT: there is no such setting')
  })

  test('trusted proxies are addresses, networks and names of networks', () => {
    const read = (text: string) => readConfig({ GROUNDSTATE_TRUST_PROXY: text }).trustProxy

    expect(read('loopback, 10.0.0.0/8,fd00::1')).toEqual(['loopback', '10.0.0.0/8', 'fd00::1'])
    expect(() => read('10.0.0.0/8,proxy.example')).toThrow('"proxy.example"')
  })

  test('the table in the README is up to date', async () => {
    const readme = await readFile(join(import.meta.dirname, '../../README.md'), 'utf8')

    expect(readme, 'run node scripts/write-settings.ts').toContain(settingsTable())
  })
})
