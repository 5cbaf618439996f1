import { ofAccess } from './0087-changes-of-access.ts'
import { ofOrganizations } from './0087-changes-of-organizations.ts'
import { ofRuns } from './0087-changes-of-runs.ts'
import { ofVariables } from './0087-changes-of-variables.ts'
import { ofWorkspaces } from './0087-changes-of-workspaces.ts'

const announcing = `
-- The cursor is the same on every server, and so is the order of the signals. Equal signals of a transaction are sent once.
create function announce_change(of_organization text, change_type text, change_id text, of_workspace text, more jsonb default '{}')
returns void language plpgsql as $$
begin
  if of_organization is null or change_id is null then return; end if;
  perform pg_notify('groundstate', 'change ' || (jsonb_build_object('cursor', pg_current_xact_id()::text,
    'organization', of_organization, 'type', change_type, 'id', change_id)
    || case when of_workspace is null then '{}' else jsonb_build_object('workspace', of_workspace) end || more)::text);
end $$;

-- Who may see what is gone or has moved away can't be asked any more: the signal names the teams that could.
create function announce_to_teams(of_organization text, change_type text, change_id text, of_workspace text, teams text[])
returns void language plpgsql as $$
declare addressees text[] := array(select distinct team from unnest(teams) as given (team) order by team);
begin
  for batch in 0 .. greatest(0, cardinality(addressees) - 1) / 100 loop
    perform announce_change(of_organization, change_type, change_id, of_workspace,
      jsonb_build_object('teams', to_jsonb(addressees[batch * 100 + 1 : batch * 100 + 100])));
  end loop;
end $$;

-- Rows with a workspace and an id of their own; the type is the argument.
create function announce_of_workspace() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_change(w.organization_id, tg_argv[0], r.id, w.id) from workspaces w where w.id = r.workspace_id;
  return null;
end $$;

-- Rows that are shown as a part of their workspace, and of what else they belong to.
create function announce_workspace_of_row() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_change(w.organization_id, 'workspaces', w.id, w.id) from workspaces w where w.id = r.workspace_id;
  return null;
end $$;

-- Rows of an organization whose type is the argument.
create function announce_of_organization() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_change(r.organization_id, tg_argv[0], r.id, null);
  return null;
end $$;
`

/**
 * Every change that a page shows is told to the servers, which pass it on to the pages that are open. The database tells it,
 * so that no statement can forget to. Rows that go with what they belong to are not told, the thing itself is; but those that
 * something else shows, too, are.
 */
export const up = [announcing, ofWorkspaces, ofRuns, ofVariables, ofOrganizations, ofAccess].join('')
