/**
 * Signals lie here from their transaction until a server passes them on (`signals.ts`). NOTIFY takes one lock for the whole database, and
 * holds it until the commit is on disk: transactions that notify can't share a flush, and wait for each other. Unlogged, since a signal is a hint:
 * a database that crashes forgets them, and whoever listens is told of the gap.
 */
export const up = `
create unlogged table signals (
  id bigint generated always as identity primary key,
  -- a topic, after a blank a detail
  topic text not null check (octet_length(topic) < 8000)
);
-- Rows live for a moment, and each server looks at the end of the index often.
alter table signals set (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_threshold = 1000000);

create or replace function announce_change(of_organization text, change_type text, change_id text, of_workspace text, more jsonb default '{}')
returns void language plpgsql as $$
begin
  if of_organization is null or change_id is null then return; end if;
  insert into signals (topic) values ('change ' || (jsonb_build_object('cursor', pg_current_xact_id()::text,
    'organization', of_organization, 'type', change_type, 'id', change_id)
    || case when of_workspace is null then '{}' else jsonb_build_object('workspace', of_workspace) end || more)::text);
end $$;

create or replace function announce_access() returns trigger language plpgsql as $$
declare
  r record := coalesce(new, old);
  of_organization text := '';
begin
  if tg_argv[0] = 'id' then of_organization := r.id;
  elsif tg_argv[0] = 'organization' then of_organization := r.organization_id;
  elsif tg_argv[0] = 'team' then select organization_id into of_organization from teams where id = r.team_id;
  end if;
  if of_organization is not null then insert into signals (topic) values ('access ' || of_organization); end if;
  return null;
end $$;
`
