/** Tags of providers, as of modules: a list of objects with `id`, `key`, `value` and `created_at`. */
export const up = `
alter table registry_providers add column tags jsonb not null default '[]';
`
