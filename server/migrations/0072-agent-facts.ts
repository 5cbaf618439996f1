/** What agents say about themselves when they register. */
export const up = `
alter table agents
  -- [{"product": "terraform", "version": "1.11.4"}]
  add column engines jsonb not null default '[]',
  add column concurrency integer not null default 1 check (concurrency >= 1),
  add column accepts text[] not null default '{plan,apply}'
    check (cardinality(accepts) > 0 and accepts <@ array['plan', 'apply', 'task']);
`
