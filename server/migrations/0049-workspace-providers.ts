/** Finds the workspaces whose current state has providers of other registries than the public ones. */
export const up = String.raw`
-- lower-case addresses of the providers in the current state, as host/namespace/name
alter table workspaces add column state_providers text[] not null default '{}';

update workspaces w
   set state_providers = array(
     select distinct lower(address)
       from jsonb_object_keys(case jsonb_typeof(s.providers) when 'object' then s.providers else '{}' end) key
      cross join lateral split_part(split_part(key, 'provider["', -1), '"]', 1) address
      where key like '%provider["%'
        and split_part(address, '/', 1) not in ('terraform.io', 'registry.terraform.io', 'registry.opentofu.org')
      order by 1)
  from state_versions s
 where s.id = w.current_state_version_id
   and s.providers::text ~ 'provider\[\\"(?!(?:terraform\.io|registry\.terraform\.io|registry\.opentofu\.org)/)';

create index workspaces_state_providers_idx on workspaces (organization_id) where state_providers <> '{}';
drop index if exists state_versions_other_providers_idx;

-- sensitive variables are removed from logs and outputs; most variables are not sensitive
create index variables_sensitive_set_idx on variables (variable_set_id) where sensitive and variable_set_id is not null;
`
