import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { findPostgres } from '../server/src/postgres/postgres.ts'
import type { BenchRow, Target } from './target.ts'

/** An idle session reports its statistics within 10 s. */
const REPORTED_MS = 10_500
const LESS = { unit: '', better: 'less' } as const

/** Work whose statements, written rows and WAL syncs are counted per call. */
export type Counted = { name: string; times: number; work: () => Promise<unknown> }

export async function countersOf(target: Target, counted: readonly Counted[]): Promise<BenchRow[]> {
  await using postgres = await findPostgres(target.dataDir)
  const client = new pg.Client(postgres.url)
  await client.connect()
  try {
    const rows: BenchRow[] = []
    let before = await countersNow(client)
    for (const { name, times, work } of counted) {
      const statements = await countStatements(client, target, async () => {
        for (let index = 0; index < times; index += 1) await work()
      })
      const after = await countersNow(client)
      rows.push(
        { name: `${name}: statements`, value: statements / times, ...LESS },
        { name: `${name}: rows written`, value: (after.rows - before.rows) / times, ...LESS },
        { name: `${name}: syncs of the log`, value: (after.syncs - before.syncs) / times, ...LESS },
      )
      before = after
    }
    return rows
  } finally {
    await client.end()
  }
}

async function countersNow(client: pg.Client) {
  await pause(REPORTED_MS)
  const { rows } = await client.query<{ rows: number; syncs: number }>(
    `select (tup_inserted + tup_updated + tup_deleted)::float8 as rows,
            (select sum(fsyncs)::float8 from pg_stat_io where object = 'wal') as syncs
       from pg_stat_database where datname = current_database()`,
  )
  return rows[0] ?? { rows: Number.NaN, syncs: Number.NaN }
}

/** PostgreSQL logs every statement of clients, including pipelined ones, but not those inside functions. */
async function countStatements(client: pg.Client, { dataDir }: Target, work: () => Promise<unknown>) {
  await using log = await open(join(dataDir, 'postgres.log'))
  const { size } = await log.stat()
  for (const setting of ['log_parameter_max_length = 0', `log_statement = 'all'`]) {
    await client.query(`alter system set ${setting}`)
  }
  await reload(client)
  try {
    await work()
  } finally {
    await client.query('alter system reset all')
    await reload(client)
  }
  const { size: end } = await log.stat()
  const { buffer } = await log.read({ buffer: Buffer.alloc(end - size), position: size })
  return buffer.toString().match(/LOG: {2}(?:execute|statement)\b/g)?.length ?? 0
}

/** Sessions read changed settings before their next statement. */
async function reload(client: pg.Client) {
  await client.query('select pg_reload_conf()')
  await pause(200)
}
