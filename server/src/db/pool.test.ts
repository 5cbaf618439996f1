import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'

const app = await createTestApp()

test('the locks of a server that hangs in a transaction are released within seconds', async () => {
  const { rows } = await sql<{ timeout: string }>`
    select current_setting('idle_in_transaction_session_timeout') as timeout`.execute(app.db)

  expect(rows).toEqual([{ timeout: '5s' }])
})
