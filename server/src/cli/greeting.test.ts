import { expect, test } from 'vitest'
import { readConfig } from '../config.ts'
import { greeting } from './serve.ts'

const config = readConfig({ GROUNDSTATE_DATA_DIR: '/srv/data' })
const STARTED = {
  baseUrl: 'https://127.0.0.1:7777',
  admin: { created: false },
  caFile: undefined,
  movedDatabase: undefined,
  agentProblem: undefined,
}

test('the printed commands trust the local authority', () => {
  const text = greeting(config, { ...STARTED, caFile: '/srv/data/tls/ca.pem' })

  expect(text).toMatch(/^ {2}export SSL_CERT_FILE=\/srv\/data\/tls\/ca\.pem$/m)
})

test('the printed commands quote the names of directories', () => {
  const spaced = readConfig({ GROUNDSTATE_DATA_DIR: "/srv/it's data" })

  const text = greeting(spaced, { ...STARTED, caFile: '/srv/my data/ca.pem' })

  expect(text).toContain("export SSL_CERT_FILE='/srv/my data/ca.pem'\n")
  expect(text).toContain(String.raw`--data-dir '/srv/it'\''s data')`)
})

test('a database outside the data directory is mentioned, and one inside is not', () => {
  const moved = greeting(config, {
    ...STARTED,
    movedDatabase: { home: '/var/lib/groundstate/database-x', closed: '/srv' },
  })

  expect(moved).toContain("The database is in /var/lib/groundstate/database-x: the user it runs as can't enter /srv.")
  expect(moved).toContain('Back it up together with /srv/data')
  expect(greeting(config, STARTED)).not.toContain('database')
})
