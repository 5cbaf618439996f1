/**
 * The command line or program that sends a request, as the public API names sources. The `cloud` block names itself, and
 * `backend "remote"` only the version of its engine.
 */
export function clientSource(header: (name: string) => string | undefined) {
  if (header('x-terraform-integration') === 'cloud') return 'terraform+cloud'
  return header('terraform-version') === undefined ? 'tfe-api' : 'terraform'
}
