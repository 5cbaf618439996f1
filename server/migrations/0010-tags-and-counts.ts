/** Tags by the id that the older interface gives them, reserved tag keys, and counts that lists show. */
export const up = `
-- The older interface knows a tag of an organization by an id, whatever workspaces have it.
alter table tag_bindings add column tag_id text not null
  generated always as ('tag-' || substr(md5(organization_id || '/' || key), 1, 16)) stored;
create index tag_bindings_tag_idx on tag_bindings (tag_id);

create table reserved_tag_keys (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  key text not null,
  -- workspaces must keep the value of their project
  disable_overrides boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index reserved_tag_keys_key on reserved_tag_keys (organization_id, key);

create index projects_list_idx on projects (organization_id, name, id);
create index organizations_list_idx on organizations (name);

-- Kept by the database, so that the total of a list of ten thousand workspaces needs no count.
alter table projects add column workspace_count integer not null default 0;
create function count_project_workspaces() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    update projects set workspace_count = workspace_count + 1 where id = new.project_id;
  elsif tg_op = 'DELETE' then
    update projects set workspace_count = workspace_count - 1 where id = old.project_id;
  else
    -- in the order of ids, so that two moves in opposite directions don't wait for each other
    perform from projects where id in (old.project_id, new.project_id) order by id for no key update;
    update projects set workspace_count = workspace_count + case when id = new.project_id then 1 else -1 end
     where id in (old.project_id, new.project_id);
  end if;
  return null;
end $$;
create trigger workspaces_count after insert or delete on workspaces
  for each row execute function count_project_workspaces();
create trigger workspaces_move after update on workspaces
  for each row when (old.project_id is distinct from new.project_id) execute function count_project_workspaces();
`
