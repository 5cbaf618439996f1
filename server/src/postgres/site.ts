import type { SystemAccount } from './account.ts'
import type { Binaries } from './binaries.ts'
import type { Folders } from './folders.ts'
import type { PostgresOptions } from './options.ts'

/** All that is known before PostgreSQL starts. */
export type Site = PostgresOptions & { fsync: boolean; folders: Folders; binaries: Binaries; account: SystemAccount }
