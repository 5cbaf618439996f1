/** Documents of module versions, read from their archives: at most 1 MB of JSON (`features/registry/module-documents/`). */
export const up = `
create table registry_module_documents (
  registry_module_version_id text primary key references registry_module_versions on delete cascade,
  documents jsonb not null,
  read_at timestamptz not null
);
`
