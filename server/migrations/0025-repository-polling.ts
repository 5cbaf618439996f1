/** Runs of configurations that are not trusted, and when repositories are polled. */
export const up = `
-- whether the configuration comes from a fork: its run gets no sensitive values and never applies
alter table runs add column withholds_secrets boolean not null default false;

alter table repositories
  -- null before the first time
  add column next_poll_at timestamptz,
  add column poll_failures integer not null default 0;
drop index repositories_polled_idx;
create index repositories_poll_idx on repositories (next_poll_at);
`
