import { type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import { batched } from './batch.ts'
import { type Db, isTransaction } from './db.ts'
import { rowsOf, type Slots, template } from './template.ts'

type Query<Row> = OperationNodeSource & { readonly expressionType?: Row | undefined }

/**
 * Finds one row by some texts. The statement is compiled once, and sent once for all requests that arrive while the
 * process handles one batch of input, since a statement costs more than its rows. `build` gets an SQL expression for
 * each of the texts. It returns a query that selects at most one row and depends on these only.
 *
 * Concurrent requests for the same key get the same object, which must not be changed.
 */
export function lookup<Name extends string, Row>(
  names: readonly Name[],
  build: (db: Db, texts: Record<Name, RawBuilder<string>>) => Query<Row>,
) {
  const texts = Object.fromEntries(names.map((name) => [name, sql.ref(`asked.${name}`)])) as Record<
    Name,
    RawBuilder<string>
  >

  const statement = template<Keys, Row & { asked: number }>((db, slot) => queryOf(names, build(db, texts), slot))

  async function load(db: Db, keys: Keys) {
    const found: (Row | undefined)[] = keys.map(() => undefined)
    for (const row of await rowsOf(db, statement(keys))) found[row.asked - 1] = row
    return found
  }

  const find = batched(load)
  return async (db: Db, values: Record<Name, string>): Promise<Row | undefined> => {
    const key = names.map((name) => values[name])
    // A transaction has no concurrent requests.
    if (!isTransaction(db)) return find(db, key)
    const [row] = await load(db, [key])
    return row
  }
}

/** The texts of each request, in the order of the names. */
type Keys = readonly (readonly string[])[]

/** The query for several keys. The `offset` keeps PostgreSQL from scanning all rows before it looks for the keys. */
function queryOf<Row>(names: readonly string[], query: Query<Row>, slot: Slots<Keys>) {
  const columns = names.map((_, index) => sql`(select ${slot((keys) => keys.map((key) => key[index]))}::text[])`)
  const asked = sql.join([...names, 'asked'].map((name) => sql.ref(name)))
  return sql<Row & { asked: number }>`select found.*, asked.asked
    from unnest(${sql.join(columns)}) with ordinality as asked (${asked})
    cross join lateral (select * from (${query}) one offset 0) found`
}
