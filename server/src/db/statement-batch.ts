import type pg from 'pg'
import type { Statement } from './statement.ts'

type Field = Parameters<Statement['handleRowDescription']>[0]
type Row = Parameters<Statement['handleDataRow']>[0]
type Complete = Parameters<Statement['handleCommandComplete']>[0]

/**
 * Statements that are sent together and answered together, which takes one round trip. They are executed in their order, and each
 * sees what those before it have changed. When one fails, those after it are not executed, and all of them fail with its error.
 */
export class Pipeline implements pg.Submittable {
  #statements: readonly Statement[]
  #answered = 0

  constructor(statements: readonly Statement[]) {
    this.#statements = statements
  }

  /** The driver calls this after all earlier packets were answered, so no two use a place at the same time. */
  submit(connection: pg.Connection) {
    // `cork` sends the messages as one write to the socket.
    connection.stream.cork()
    for (const statement of this.#statements) statement.write(connection)
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription(description: Field) {
    this.#statements[this.#answered]?.handleRowDescription(description)
  }

  handleDataRow(row: Row) {
    this.#statements[this.#answered]?.handleDataRow(row)
  }

  handleCommandComplete(complete: Complete) {
    this.#statements[this.#answered]?.handleCommandComplete(complete)
    this.#answered += 1
  }

  handleEmptyQuery() {
    this.#answered += 1
  }

  handleReadyForQuery() {
    for (const statement of this.#statements) statement.succeed()
  }

  handleError(error: unknown) {
    for (const [index, statement] of this.#statements.entries()) {
      if (index === this.#answered) statement.fail(error)
      else statement.abandon(error)
    }
  }
}
