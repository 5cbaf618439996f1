import pg from 'pg'

/** What the package exports beside what its types know: how a value is written for the database. */
type Untyped = { utils: { prepareValue: (value: unknown) => Buffer | string | null } }
const { prepareValue } = (pg as typeof pg & Untyped).utils

/** Its field that the types lack: the texts of the statements that the database has prepared, by name. */
type Connection = pg.Connection & { parsedStatements: Record<string, string> }

type Parser = (text: string) => unknown
type Field = { name: string; dataTypeID: Parameters<typeof pg.types.getTypeParser>[0] }
type Row = Record<string, unknown>
type Result = { command: string | undefined; rowCount: number | null; rows: Row[] }

/** How the rows of a statement are read; `blank` is a row without values, to be copied. */
type Shape = { names: string[]; parsers: Parser[]; blank: Row }

/** What a connection knows of the statements that it has prepared, by their names. */
export type Shapes = Map<string, Shape>

const NO_ROWS: Shape = { names: [], parsers: [], blank: {} }

/**
 * One execution of a prepared statement. The driver's own query asks the database to describe the columns each time, which
 * for a wide row costs both sides as much as the row itself; here they are asked for once on each connection. That they stay
 * as they are is the database's promise: it refuses to run a prepared statement whose columns would change (`isStalePlan`).
 */
export class Statement implements pg.Submittable {
  // The client reads these two.
  readonly name: string
  readonly text: string
  readonly result: Promise<Result>
  #values: (Buffer | string | null)[]
  #shapes: Shapes
  #shape: Shape | undefined
  #result: Result = { command: undefined, rowCount: null, rows: [] }
  #fault: unknown
  #settle: { resolve: (result: Result) => void; reject: (error: unknown) => void }

  constructor({ name, text, values }: { name: string; text: string; values: readonly unknown[] }, shapes: Shapes) {
    this.name = name
    this.text = text
    this.#values = values.map((value) => prepareValue(value))
    this.#shapes = shapes
    const { promise, ...settle } = Promise.withResolvers<Result>()
    this.result = promise
    this.#settle = settle
  }

  submit(connection: pg.Connection) {
    const { parsedStatements } = connection as Connection
    // Together they are one packet.
    connection.stream.cork()
    this.#shape = this.#shapes.get(this.name)
    if (parsedStatements[this.name] === undefined)
      connection.parse({ name: this.name, text: this.text, types: [] }, true)
    connection.bind({ statement: this.name, values: this.#values }, true)
    if (!this.#shape) connection.describe({ type: 'P', name: '' }, true)
    connection.execute(null, true)
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription({ fields }: { fields: Field[] }) {
    const names = fields.map((field) => field.name)
    const parsers = fields.map((field): Parser => pg.types.getTypeParser(field.dataTypeID, 'text'))
    this.#shape = { names, parsers, blank: Object.fromEntries(names.map((name) => [name, null])) }
  }

  handleDataRow({ fields }: { fields: (string | null)[] }) {
    const { names, parsers, blank } = this.#shape ?? NO_ROWS
    const row = { ...blank }
    try {
      for (let index = 0; index < names.length; index += 1) {
        const text = fields[index] ?? null
        row[names[index] ?? ''] = text === null ? null : parsers[index]?.(text)
      }
    } catch (error) {
      // The rest of the answer has to be read before it can be told.
      this.#fault ??= error
    }
    this.#result.rows.push(row)
  }

  handleCommandComplete({ text }: { text: string }) {
    const [command, ...counts] = text.split(' ')
    this.#result.command = command
    const count = Number(counts.at(-1))
    this.#result.rowCount = Number.isInteger(count) ? count : null
  }

  handleEmptyQuery() {}

  handleReadyForQuery() {
    this.#shapes.set(this.name, this.#shape ?? NO_ROWS)
    if (this.#fault === undefined) this.#settle.resolve(this.#result)
    else this.#settle.reject(this.#fault)
  }

  handleError(error: unknown) {
    this.#settle.reject(error)
  }
}

/** Whether a statement was refused since its columns have changed: another replica has migrated the database. */
export function isStalePlan(error: unknown) {
  return error instanceof pg.DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery'
}
