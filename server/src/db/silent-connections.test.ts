import { expect, test } from 'vitest'
import { atEnd } from '../testing/cleanup.ts'
import { passedBy } from '../testing/database-proxy.ts'
import { createTestDatabase } from '../testing/database.ts'
import { isUnavailable } from './db.ts'
import { createConnectionPool } from './pool.ts'

const SILENT_MS = 200

/** A pool of one connection, whose network can drop all open connections silently. */
async function createPool() {
  const database = await createTestDatabase()
  const open = new Set<{ isLost: boolean }>()
  const url = await passedBy(database.url, (client, target) => {
    const connection = { isLost: false }
    open.add(connection)
    client.on('data', (data: Buffer) => void (connection.isLost || target.write(data)))
    target.on('data', (data: Buffer) => void (connection.isLost || client.write(data)))
  })
  const pool = createConnectionPool(url, { max: 1, silentMs: SILENT_MS })
  atEnd(() => pool.end())
  return {
    pool,
    lose() {
      for (const connection of open) connection.isLost = true
    },
  }
}

test('a statement on a connection that the network has dropped fails, and the next one takes another', async () => {
  const { pool, lose } = await createPool()
  await pool.run('select 1')

  lose()
  const failure = await pool.run('select 2').catch((error: unknown) => error)
  const { rows } = await pool.run('select 3 as value')

  expect(isUnavailable(failure)).toBe(true)
  expect(rows).toEqual([{ value: 3 }])
})

test('a statement that takes long is not interrupted', async () => {
  const { pool } = await createPool()

  const { rows } = await pool.run(`select pg_sleep(${(SILENT_MS * 6) / 1000}), 1 as value`)

  expect(rows[0]).toMatchObject({ value: 1 })
})
