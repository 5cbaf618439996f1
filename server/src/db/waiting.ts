import type { StatementResult } from './statement.ts'

type Receive = (result: Promise<StatementResult>) => void

/** Statements reach the connection as a text and a list of values; the list identifies those that wait for the next one. */
const receivers = new WeakMap<readonly unknown[], Receive>()

/** Marks the statement with these values; `receive` gets its result once it is on its way to be sent. */
export function markWaiting(values: readonly unknown[], receive: Receive) {
  receivers.set(values, receive)
}

/** What to do with the result of a statement with these values, if it is one that waits. */
export function receiverOf(values: readonly unknown[]): Receive | undefined {
  return receivers.get(values)
}
