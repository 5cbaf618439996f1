import pg from 'pg'
import { isStalePlan, type Shapes, Statement } from './statement.ts'

// A timestamp is a Date, a count a number: nothing that is counted here comes near 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

const MAX_NAMED_STATEMENTS = 1000
const names = new Map<string, string>()

/** The name of a statement's text, the same on every connection; undefined once too many texts have been seen. */
function statementName(text: string) {
  let name = names.get(text)
  if (name === undefined && names.size < MAX_NAMED_STATEMENTS) {
    name = `s${names.size}`
    names.set(text, name)
  }
  return name
}

/**
 * A client that prepares each parameterised statement once per connection. kysely sends text and values only; naming the
 * statement spares PostgreSQL the parse and the plan of every repetition, and the description of its rows.
 */
export class NamedStatementClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    // Whoever waits for an answer when the connection breaks is told by it; without a listener the event would end the process.
    this.on('error', () => {})
    const query = this.query.bind(this) as (...args: unknown[]) => unknown
    const shapes: Shapes = new Map()
    /** The names under which statements stand that could not be run any more as they were prepared. */
    const renamed = new Map<string, string>()
    const named = (...args: unknown[]) => {
      const [text, values] = args
      const name = typeof text === 'string' && Array.isArray(values) ? statementName(text) : undefined
      if (name === undefined) return query(...args)
      const current = renamed.get(name) ?? name
      const statement = new Statement({ name: current, text: String(text), values: values as unknown[] }, shapes)
      query(statement)
      statement.result.catch((error: unknown) => {
        if (isStalePlan(error)) renamed.set(name, `${current}+`)
      })
      return statement.result
    }
    this.query = named as typeof this.query // pg's overloads can't be restated one by one
  }
}

export function createPool(url: string, options: { max: number }) {
  return new pg.Pool({
    connectionString: url,
    max: options.max,
    Client: NamedStatementClient,
    idleTimeoutMillis: 60_000,
    application_name: 'groundstate',
  })
}
