/**
 * What lists look runs up by and what never changes. A run changes its row many times, and each time enters all indexes of `runs`; these
 * it enters once.
 */
export const up = `
create table run_keys (
  run_id text primary key references runs on delete cascade,
  organization_id text not null,
  -- the run's
  seq bigint not null,
  source text not null,
  -- run_operations of the run
  operations smallint not null,
  message text not null,
  created_at timestamptz not null
);

create function run_operations(plan_only boolean, save_plan boolean, refresh_only boolean, is_destroy boolean, allow_empty_apply boolean)
returns smallint language sql immutable parallel safe as $$
  select (plan_only::int + 2 * save_plan::int + 4 * refresh_only::int + 8 * is_destroy::int + 16 * allow_empty_apply::int)::smallint
$$;

-- The parts of a text, three characters each, in lower case: whatever contains a text has all of its parts. Long texts are not taken apart.
create function trigrams(whole text) returns text[] language sql immutable parallel safe as $$
  select case when length(whole) > 1000 then array['*'] else array(
    select distinct one || two || three from (
      select one, lead(one) over places as two, lead(one, 2) over places as three
        from unnest(string_to_array(lower(whole), null)) with ordinality as letters (one, place)
      window places as (order by place)) parts
    where three is not null) end
$$;

create function keep_run_keys() returns trigger language plpgsql as $$
begin
  insert into run_keys (run_id, organization_id, seq, source, operations, message, created_at)
  values (new.id, new.organization_id, new.seq, new.source,
    run_operations(new.plan_only, new.save_plan, new.refresh_only, new.is_destroy, new.allow_empty_apply), new.message, new.created_at);
  return null;
end $$;
create trigger runs_keys after insert on runs for each row execute function keep_run_keys();
`
