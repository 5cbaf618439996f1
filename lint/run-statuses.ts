import { RUN_STATUS } from '../contract/src/run-status.ts'

/** Every list of run statuses is derived from the table in `contract/src/run-status.ts`; this file finds the others. */

const STATUSES: ReadonlySet<string> = new Set(RUN_STATUS)

/** Statuses that only runs have. Plans, states and tasks have the other names too. */
const ONLY_RUNS = /_|plan|appl|confirm|queu/

/** Whether the values, undefined for one that is no literal, name two or more statuses of runs and not those of something else. */
export function isStatusList(values: readonly (string | undefined)[]) {
  const statuses = new Set(values.filter((value) => value !== undefined && STATUSES.has(value)))
  if (statuses.size < 2) return false
  return areStatuses(values) || namesOnlyRuns(statuses)
}

/** Whether one of the values is a status that only runs have; `value.status` may be that of something else. */
export function isComparedList(values: readonly (string | undefined)[]) {
  return isStatusList(values) && namesOnlyRuns(values)
}

/** Whether the keys of an object are three or more statuses. */
export function areStatusKeys(keys: readonly (string | undefined)[]) {
  return keys.length > 2 && areStatuses(keys)
}

/** Whether a text, such as a part of an SQL statement, has a list of statuses: quoted, or separated by nothing but commas. */
export function hasStatusList(text: string) {
  const quoted = text.match(/'\w*'(?:::\w+)?(?:\s*,\s*'\w*'(?:::\w+)?)+/g) ?? []
  const plain = text.match(/(?<![\w'])\w+(?:,\w+)+(?![\w'])/g) ?? []
  return [...quoted, ...plain].some((list) => isStatusList(list.replaceAll(/'|::\w+|\s/g, '').split(',')))
}

function areStatuses(values: readonly (string | undefined)[]) {
  return values.every((value) => value !== undefined && STATUSES.has(value))
}

function namesOnlyRuns(values: Iterable<string | undefined>) {
  return [...values].some((value) => value !== undefined && STATUSES.has(value) && ONLY_RUNS.test(value))
}

/** The table, the rules of the machine, and what tests expect. */
const FREE = /\bcontract\/src\/run-status\.ts$|\/runs\/runs\/machine\.ts$|\.test\.tsx?$|\/testing\//

export function mayListStatuses(path: string) {
  return FREE.test(path)
}
