import * as accounts from './0001-accounts.ts'
import * as workspaces from './0002-workspaces.ts'
import * as runs from './0020-runs.ts'
import * as agents from './0021-agents.ts'

/** In the order in which they run. Append-only: a migration that has landed never changes. */
export const MIGRATIONS: readonly { name: string; up: string }[] = [
  { name: '0001-accounts', up: accounts.up },
  { name: '0002-workspaces', up: workspaces.up },
  { name: '0020-runs', up: runs.up },
  { name: '0021-agents', up: agents.up },
]
