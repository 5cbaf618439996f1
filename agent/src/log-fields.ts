import { AsyncLocalStorage } from 'node:async_hooks'

type Fields = Readonly<Record<string, string>>

const storage = new AsyncLocalStorage<Fields>()

/** Adds fields to all log lines of `work`, such as the ids of its request and run. */
export function withLogFields<T>(fields: Fields, work: () => T): T {
  return storage.run({ ...storage.getStore(), ...fields }, work)
}

/** Does work that does not belong to the current one, such as a loop that it starts. */
export function withoutLogFields<T>(work: () => T): T {
  return storage.exit(work)
}

/** The fields of the current work. */
export function logFields(): Fields {
  return storage.getStore() ?? {}
}
