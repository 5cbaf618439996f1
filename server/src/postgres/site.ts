import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import type { Folders } from './folders.ts'
export type Log = { info(message: string): void; warn(message: string): void }

/** Everything that is decided before PostgreSQL runs. */
export type Site = PostgresOptions & { fsync: boolean; folders: Folders; binaries: Binaries; account: Account }

/** `dataDir` is the server's data folder. `fsync: false` is for tests: a power cut then loses data. */
export type PostgresOptions = { dataDir: string; log: Log; fsync?: boolean }
