export type PostgresLog = { info(message: string): void; warn(message: string): void }

/** `dataDir` is the server's data directory. `fsync: false` is for tests: a power cut may lose data. */
export type PostgresOptions = { dataDir: string; log: PostgresLog; fsync?: boolean }
