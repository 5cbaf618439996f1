/** PostgreSQL's settings for a server that shares a small machine with its application, on one local socket. */
export function postgresArguments(cluster: string, socketDirectory: string, fsync: boolean) {
  const settings = {
    listen_addresses: '',
    unix_socket_directories: socketDirectory,
    unix_socket_permissions: '0700',
    port: '5432',
    max_connections: '100',
    // Used memory is never released, and the system caches the files as well.
    shared_buffers: '64MB',
    // A commit flushes the buffer, so it holds only the transactions of a moment.
    wal_buffers: '1MB',
    // Tables of locks for a kind of isolation that is not in use; they are filled at the start.
    max_pred_locks_per_transaction: '10',
    work_mem: '8MB',
    maintenance_work_mem: '64MB',
    effective_cache_size: '512MB',
    max_wal_size: '512MB',
    fsync: fsync ? 'on' : 'off',
    synchronous_commit: fsync ? 'on' : 'off',
    full_page_writes: fsync ? 'on' : 'off',
    // These don't help short queries over many connections, and each costs processes or planning time.
    jit: 'off',
    io_method: 'sync',
    max_parallel_workers_per_gather: '0',
    max_logical_replication_workers: '0',
    autovacuum_max_workers: '2',
    // The application logs its failed statements itself; values of rows must not get into this log.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    log_line_prefix: '%m [%p] ',
  }
  return ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}
