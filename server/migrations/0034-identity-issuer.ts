/** The issuer of identity tokens, for commands that work on the database without the settings of the server. */
export const up = `
create table identity_issuer (
  -- one row, of the server that started last
  is_only boolean primary key default true check (is_only),
  url text not null,
  -- whether services read copies of its documents elsewhere
  is_external boolean not null
);
`
