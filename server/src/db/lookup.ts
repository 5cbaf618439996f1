import { type CompiledQuery, type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import { batched } from './batch.ts'
import { type Db, isTransaction } from './db.ts'

type Query<Row> = OperationNodeSource & { readonly expressionType?: Row | undefined }

/**
 * Finds one row by some texts. The statement is built and compiled once, and sent once for all that ask while the process
 * reads what came in: to run one costs both sides more than to find a row with it. `build` gets SQL that stands for each of
 * the texts; it makes a query that selects one row at most, in terms of these alone.
 *
 * Who asks for the same at the same time gets the same row, which nobody may change.
 */
export function lookup<Name extends string, Row>(
  names: readonly Name[],
  build: (db: Db, texts: Record<Name, RawBuilder<string>>) => Query<Row>,
) {
  let compiled: CompiledQuery<Row & { asked: number }> | undefined
  const texts = Object.fromEntries(names.map((name) => [name, sql.ref(`asked.${name}`)])) as Record<
    Name,
    RawBuilder<string>
  >

  async function load(db: Db, keys: readonly (readonly string[])[]) {
    compiled ??= statement(names, build(db, texts)).compile(db)
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Column ? keys.map((key) => key[parameter.index]) : parameter,
    )
    const { rows } = await db.executeQuery<Row & { asked: number }>({ ...compiled, parameters })
    const found: (Row | undefined)[] = keys.map(() => undefined)
    for (const row of rows) found[row.asked - 1] = row
    return found
  }

  const find = batched(load)
  return async (db: Db, values: Record<Name, string>): Promise<Row | undefined> => {
    const key = names.map((name) => values[name])
    // In a transaction nobody else asks.
    if (!isTransaction(db)) return find(db, key)
    const [row] = await load(db, [key])
    return row
  }
}

/** Stands in the compiled statement for the list of the values of one name. */
class Column {
  index: number

  constructor(index: number) {
    this.index = index
  }
}

/** The query for each of several keys. Without the `offset` PostgreSQL might begin with all rows and look for the keys. */
function statement<Row>(names: readonly string[], query: Query<Row>) {
  const columns = names.map((_, index) => sql`(select ${new Column(index)}::text[])`)
  const asked = sql.join([...names, 'asked'].map((name) => sql.ref(name)))
  return sql<Row & { asked: number }>`select found.*, asked.asked
    from unnest(${sql.join(columns)}) with ordinality as asked (${asked})
    cross join lateral (select * from (${query}) one offset 0) found`
}
