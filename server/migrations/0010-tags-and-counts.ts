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

-- Goes up with every change of who is in which team and of what teams reach, so that what was counted can be kept.
alter table organizations add column access_revision bigint not null default 0;
create function raise_access_revision() returns trigger language plpgsql as $$
begin
  update organizations set access_revision = access_revision + 1
   where id in (select t.organization_id from changed join teams t on t.id = changed.team_id);
  return null;
end $$;
create function raise_access_revision_of_row() returns trigger language plpgsql as $$
begin
  update organizations set access_revision = access_revision + 1 where id = old.organization_id;
  return null;
end $$;
create trigger team_members_granted after insert on team_members referencing new table as changed
  for each statement execute function raise_access_revision();
create trigger team_members_revoked after delete on team_members referencing old table as changed
  for each statement execute function raise_access_revision();
create trigger team_projects_granted after insert on team_projects referencing new table as changed
  for each statement execute function raise_access_revision();
create trigger team_projects_revoked after delete on team_projects referencing old table as changed
  for each statement execute function raise_access_revision();
create trigger team_workspaces_granted after insert on team_workspaces referencing new table as changed
  for each statement execute function raise_access_revision();
create trigger team_workspaces_revoked after delete on team_workspaces referencing old table as changed
  for each statement execute function raise_access_revision();
-- What a deleted team granted goes with it, when its organization can't be told from the grants any more.
create trigger teams_deleted after delete on teams
  for each row execute function raise_access_revision_of_row();
create trigger workspaces_moved_access after update on workspaces
  for each row when (old.project_id is distinct from new.project_id) execute function raise_access_revision_of_row();

create trigger workspaces_count after insert or delete on workspaces
  for each row execute function count_project_workspaces();
create trigger workspaces_move after update on workspaces
  for each row when (old.project_id is distinct from new.project_id) execute function count_project_workspaces();
`
