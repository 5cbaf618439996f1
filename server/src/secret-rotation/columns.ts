import { type RawBuilder, sql } from 'kysely'
import type { Blobs } from '../blobs/blobs.ts'
import { ID_OFFSET } from '../blobs/frames.ts'
import { type Db, transact } from '../db/db.ts'
import { KEY_ID_BYTES } from '../secrets/key-id.ts'
import type { SealedColumn, SealedJobProperty } from '../secrets/sealed.ts'
import type { Secrets } from '../secrets/secrets.ts'

export type ResealContext = { db: Db; secrets: Secrets; blobs: Pick<Blobs, 'resealBuffer'>; prefix: Buffer }

/** Result of a pass: how many values were sealed again, and those that no secret opens, with the reason. */
export type Pass = { resealed: number; unreadable: string[] }

/** Tables are read by ranges of blocks, so that a pass needs neither an index nor a sort of the table. */
const BLOCKS = 64
/** Rows per transaction: few, since they stay locked until its end and may have 256 KB each. */
const BATCH = 50

/** The table and column as SQL, and the condition of the values that are not sealed with the current secret. */
function statements({ table, column, isBlob }: SealedColumn, prefix: Buffer) {
  const value = sql.ref(column)
  const stale: RawBuilder<boolean> = isBlob
    ? sql`substring(${value} from ${sql.lit(ID_OFFSET + 1)} for ${sql.lit(KEY_ID_BYTES)}) <> ${prefix.subarray(1)}`
    : sql`substring(${value} from 1 for ${sql.lit(prefix.length)}) <> ${prefix}`
  return { from: sql.table(table), value, stale }
}

/** How many values of a column are not sealed with the current secret. */
export async function countStale({ db, prefix }: ResealContext, column: SealedColumn): Promise<number> {
  const { from, stale } = statements(column, prefix)
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from ${from} where ${stale}`.execute(db)
  return rows[0]?.count ?? 0
}

/**
 * Seals the values of a column again that are not sealed with the current secret. Rows that others have locked are skipped, and a row that is updated
 * meanwhile may move to a part that was already read: repeat it until `countStale` finds none.
 */
export async function resealColumn(ctx: ResealContext, column: SealedColumn): Promise<Pass> {
  const pass: Pass = { resealed: 0, unreadable: [] }
  const { rows } = await sql<{ blocks: number }>`
    select (pg_relation_size(${column.table}::regclass) / current_setting('block_size')::int)::int as blocks`.execute(
    ctx.db,
  )
  const blocks = (rows[0]?.blocks ?? 0) + 1
  for (let block = 0; block < blocks; block += BLOCKS) {
    const end = `(${block + BLOCKS},0)`
    for (let after: string | undefined = `(${block},0)`; after !== undefined;)
      after = await resealBatch(ctx, column, { after, end, pass })
  }
  return pass
}

type Row = { position: string; sealed: Buffer } & Record<string, unknown>

/** Returns the position of the last row; undefined if there are no more. */
async function resealBatch(
  ctx: ResealContext,
  column: SealedColumn,
  { after, end, pass }: { after: string; end: string; pass: Pass },
) {
  const { from, value, stale } = statements(column, ctx.prefix)
  const by = column.by.map((name) => sql`, ${sql.ref(name)}::text as ${sql.ref(`by_${name}`)}`)
  return transact(ctx, async ({ db }) => {
    // Locked, so that a value cannot change between its read and its write; no wait for a lock can end in a deadlock with a server.
    const { rows } = await sql<Row>`
      select ctid::text as position, ${value} as sealed ${sql.join(by, sql``)} from ${from}
       where ctid > ${after}::tid and ctid < ${end}::tid and ${stale}
       order by ctid limit ${sql.lit(BATCH)} for no key update skip locked`.execute(db)
    for (const row of rows) {
      const sealed = reseal(ctx, column, row, pass)
      if (sealed === undefined) continue
      await sql`update ${from} set ${value} = ${sealed} where ctid = ${row.position}::tid`.execute(db)
      pass.resealed += 1
    }
    return rows.length < BATCH ? undefined : rows.at(-1)?.position
  })
}

function reseal({ secrets, blobs }: ResealContext, column: SealedColumn, row: Row, pass: Pass) {
  const by = Object.fromEntries(column.by.map((name) => [name, row[`by_${name}`] as string | null]))
  const context = column.contextOf(by)
  try {
    return column.isBlob
      ? blobs.resealBuffer(context, row.sealed)
      : secrets.seal(secrets.open(row.sealed, context), context)
  } catch (error) {
    pass.unreadable.push(`${column.table}.${column.column}: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}

type JobRow = { id: string; data: Record<string, unknown> }

/** As `resealColumn` for a property of waiting and finished jobs; `countStaleJobs` counts what is left. */
export async function resealJobs(ctx: ResealContext, declared: SealedJobProperty): Promise<Pass> {
  const pass: Pass = { resealed: 0, unreadable: [] }
  const { job, property } = declared
  const { rows } = await sql<JobRow>`
    select id, data from pgboss.job where name = ${job} and ${staleJob(ctx, declared)}`.execute(ctx.db)
  for (const { id, data } of rows) {
    const before = data[property] as string
    const context = declared.contextOf(data)
    try {
      const sealed = ctx.secrets.seal(ctx.secrets.open(Buffer.from(before, 'base64'), context), context)
      await sql`
        update pgboss.job set data = jsonb_set(data, array[${property}], to_jsonb(${sealed.toString('base64')}::text))
         where name = ${job} and id = ${id} and data->>${property} = ${before}`.execute(ctx.db)
      pass.resealed += 1
    } catch (error) {
      pass.unreadable.push(`job ${id} ${job}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return pass
}

export async function countStaleJobs(ctx: ResealContext, declared: SealedJobProperty): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pgboss.job where name = ${declared.job} and ${staleJob(ctx, declared)}`.execute(
    ctx.db,
  )
  return rows[0]?.count ?? 0
}

function staleJob({ prefix }: ResealContext, { property }: SealedJobProperty) {
  return sql`data ? ${property} and substring(decode(data->>${property}, 'base64') from 1 for ${sql.lit(prefix.length)}) <> ${prefix}`
}
