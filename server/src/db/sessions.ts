/** Name of the listening sessions of servers, before a blank and the id of the server. A server is running while it has one. */
export const SIGNALS_SESSION = 'groundstate-signals'

/** A table expression in SQL: the running servers, with `id`, `address` (null for a socket) and `connected_at`. */
export const LIVE_SERVERS = `(select split_part(application_name, ' ', 2) as id, host(client_addr) as address, backend_start as connected_at
  from pg_stat_activity where datname = current_database() and application_name like '${SIGNALS_SESSION} %')`
