/** One row about the installation: a mark of its secret, so that a server with another one does not start on the data. */
export const up = `
create table installation (
  only_row boolean primary key default true check (only_row),
  secret_mark text not null
);
`
