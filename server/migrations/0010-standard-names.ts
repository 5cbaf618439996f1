/**
 * Renames what earlier databases call by another name. The migrations before this one create the current names, so a new database has
 * nothing to rename.
 */

/** `table` or `table.column`, and the new name. */
const RENAMES: readonly (readonly [from: string, to: string])[] = [
  ['second_factors', 'two_factor_secrets'],
  ['task_requests.answer', 'response'],
  ['phases.held_until', 'deferred_until'],
  ['phases.documents_owed_at', 'documents_pending_since'],
  ['task_stages.held_until', 'deferred_until'],
  ['agent_jobs.asked_engine', 'requested_engine'],
  ['agent_jobs.receipt_due_at', 'ack_due_at'],
]

export const up = RENAMES.map(([from, to]) => {
  const [table = '', column] = from.split('.')
  const rename = column === undefined ? `rename to ${to}` : `rename column ${column} to ${to}`
  const found =
    column === undefined
      ? `to_regclass('${table}') is not null`
      : `exists (select from pg_attribute where attrelid = to_regclass('${table}') and attname = '${column}')`
  return `do $$ begin if ${found} then alter table ${table} ${rename}; end if; end $$;`
}).join('\n')
