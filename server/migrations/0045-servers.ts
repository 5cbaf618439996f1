/** Servers of the installation, and which servers may run with which migration (`db/migrate.ts`). */
export const up = `
-- A row of a server without a listening connection (signals.ts) is from a stopped one.
create table servers (
  id text primary key,
  version text not null,
  role text not null check (role in ('all', 'api', 'worker')),
  -- as configured; null if it follows from host and port
  base_url text,
  -- as configured; null for the base URL
  issuer_url text,
  -- name of the last migration that the server knows
  migration text not null,
  started_at timestamptz not null
);

-- The migration that a server must know to run with this one; null if older servers run with it.
alter table schema_migrations add column requires text;
`
