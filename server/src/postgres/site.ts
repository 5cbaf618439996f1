import type { SystemAccount } from './account.ts'
import type { Binaries } from './binaries.ts'
import type { Directories } from './directories.ts'
import type { PostgresOptions } from './options.ts'

/** All that is known before PostgreSQL starts. */
export type Site = PostgresOptions & {
  fsync: boolean
  directories: Directories
  binaries: Binaries
  account: SystemAccount
}
