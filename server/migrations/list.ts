import * as accounts from './0001-accounts.ts'
import * as workspaces from './0002-workspaces.ts'
import * as stateVersions from './0030-state-versions.ts'

/** In the order in which they run. Append-only: a migration that has landed never changes. */
export const MIGRATIONS: readonly { name: string; up: string }[] = [
  { name: '0001-accounts', up: accounts.up },
  { name: '0002-workspaces', up: workspaces.up },
  { name: '0030-state-versions', up: stateVersions.up },
]
