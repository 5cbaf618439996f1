import type { StateVersion } from './states.ts'

type Resource = StateVersion['attributes']['resources'][number]

/** A heading, or a resource below it. */
export type ResourceRow =
  | { kind: 'module'; key: string; name: string }
  | { kind: 'resource'; key: string; address: string; provider: string; count: number; tainted: number }

/** The resources that match, by type below their modules; the root module comes first. */
export function resourceRows(resources: readonly Resource[], q: string): ResourceRow[] {
  const wanted = q.trim().toLowerCase()
  const byModule = Map.groupBy(
    resources.filter(
      ({ module, type, name, provider }) =>
        wanted === '' ||
        `${module === 'root' ? '' : `${module}.`}${type}.${name} ${provider}`.toLowerCase().includes(wanted),
    ),
    ({ module }) => module,
  )
  const modules = [...byModule].sort(([a], [b]) => Number(b === 'root') - Number(a === 'root') || a.localeCompare(b))
  return modules.flatMap(([name, own]): ResourceRow[] => [
    { kind: 'module', key: `module ${name}`, name },
    ...own
      .map(({ type, name: resource, provider, count, tainted = 0 }) => ({
        kind: 'resource' as const,
        key: `${name} ${type}.${resource}`,
        address: `${type}.${resource}`,
        provider: shortProvider(provider),
        count,
        tainted,
      }))
      .sort((a, b) => a.address.localeCompare(b.address)),
  ])
}

/** "registry.terraform.io/hashicorp/aws" of the way in which a state writes it: `provider["…"]`. */
function shortProvider(provider: string) {
  return /^provider\["(.+)"\]/.exec(provider)?.[1] ?? provider
}
