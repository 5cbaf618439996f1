/** A part of 0087-changes. */
export const ofAccess = `
-- Whatever may take access away is told at once: the organization, or nothing where it may be any.
create function announce_access() returns trigger language plpgsql as $$
declare
  r record := coalesce(new, old);
  of_organization text := '';
begin
  if tg_argv[0] = 'id' then of_organization := r.id;
  elsif tg_argv[0] = 'organization' then of_organization := r.organization_id;
  elsif tg_argv[0] = 'team' then select organization_id into of_organization from teams where id = r.team_id;
  end if;
  if of_organization is not null then perform pg_notify('groundstate', 'access ' || of_organization); end if;
  return null;
end $$;
create trigger organizations_access after update on organizations
  for each row when (old.* is distinct from new.*) execute function announce_access('id');
create trigger organizations_deleted_access after delete on organizations
  for each row execute function announce_access('id');
create trigger teams_access after update on teams for each row execute function announce_access('organization');
create trigger team_projects_access after update on team_projects for each row execute function announce_access('team');
create trigger team_workspaces_access after update on team_workspaces
  for each row execute function announce_access('team');
create trigger organization_memberships_access after insert or update or delete on organization_memberships
  for each row execute function announce_access('organization');
create trigger sessions_access after delete on sessions for each row execute function announce_access('any');
create trigger tokens_access after delete on tokens
  for each row when (old.kind in ('user', 'team', 'organization')) execute function announce_access('any');
create trigger users_access after update on users
  for each row when (old.suspended_at is distinct from new.suspended_at) execute function announce_access('any');
create trigger users_deleted_access after delete on users for each row execute function announce_access('any');
`
