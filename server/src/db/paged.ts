import { type SelectQueryBuilder, sql } from 'kysely'
import { type Page, type Paged, pageOffset } from './db.ts'

/**
 * Reads one page of `list`, and counts the rows of `all`, the same rows without columns and order. One after the other, since a second
 * connection would prepare its own statements.
 */
export async function readPaged<Row, Database, Tables extends keyof Database>(
  page: Page,
  list: { limit: (size: number) => { offset: (rows: number) => { execute: () => Promise<Row[]> } } },
  all: SelectQueryBuilder<Database, Tables, object>,
): Promise<Paged<Row>> {
  const rows = await list.limit(page.size).offset(pageOffset(page)).execute()
  const count = all.select(sql`count(*)`.as('total')).$castTo<{ total: number }>()
  return { rows, total: (await count.executeTakeFirstOrThrow()).total }
}
