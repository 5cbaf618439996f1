/** Finds the states with providers of other registries than the public ones, which most states do not have. */
export const up = String.raw`
create index state_versions_other_providers_idx on state_versions (id)
  where providers::text ~ 'provider\[\\"(?!(?:terraform\.io|registry\.terraform\.io|registry\.opentofu\.org)/)';
`
