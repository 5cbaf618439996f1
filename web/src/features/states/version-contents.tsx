import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { failureOf } from '../../api/queries.ts'
import { ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { Pager } from '../../components/pager.tsx'
import { TaintedBadge } from '../../components/status.tsx'
import { Table } from '../../components/table.tsx'
import { VirtualRows } from '../../components/virtual-rows.tsx'
import { useVersionOutputs } from '../runs/run.ts'
import { OUTPUT_COLUMNS } from '../workspaces/outputs-card.tsx'
import { useStatesSearch } from './navigation.tsx'
import { type StateVersion, useVersionResources } from './states.ts'
import { byModule } from './version-text.ts'

/** The resources of a version, grouped by module. */
export function VersionResources({ version }: { version: StateVersion }) {
  const [{ q = '' }, setSearch] = useStatesSearch()
  const query = useVersionResources(version.id)
  const failure = failureOf(query)
  const { data: resources } = query
  if (failure) return <ErrorNote {...failure} />
  if (!resources) return <Skeleton rows={8} label="Loading resources" />
  if (resources.length === 0)
    return version.attributes['resources-processed'] ? <p className="text-dim">No resources</p> : null
  const rows = resourceRows(resources, q)
  return (
    <div className="space-y-3">
      <SearchField
        label="Search resources"
        value={q}
        onChange={(text) => setSearch({ q: text || undefined })}
        className="w-full sm:w-72"
      />
      {rows.length === 0 ? (
        <Notice>No resource has “{q}” in its address or provider.</Notice>
      ) : (
        <VirtualRows
          label="Resources"
          rows={rows}
          maxStatic={80}
          rowHeight={29}
          keyOf={({ key }) => key}
          className="rounded-lg border border-line bg-paper"
          render={(row) => <ResourceLine row={row} />}
        />
      )}
    </div>
  )
}

type ResourceRow =
  | { kind: 'module'; key: string; name: string }
  | { kind: 'resource'; key: string; address: string; provider: string; count: number; tainted: number }

/** The matching resources, sorted below their modules; the root module comes first. */
export function resourceRows(
  resources: readonly StateVersion['attributes']['resources'][number][],
  q: string,
): ResourceRow[] {
  const query = q.trim().toLowerCase()
  const matching = resources.filter(({ module, type, name, provider }) =>
    `${module === 'root' ? '' : `${module}.`}${type}.${name} ${provider}`.toLowerCase().includes(query),
  )
  const modules = [...Map.groupBy(matching, ({ module }) => module)].sort(([a], [b]) => byModule(a, b))
  return modules.flatMap(([name, own]): ResourceRow[] => [
    { kind: 'module', key: `module ${name}`, name },
    ...own
      .map(({ type, name: resource, provider, count, tainted = 0 }) => ({
        kind: 'resource' as const,
        key: `${name} ${type}.${resource}`,
        address: `${type}.${resource}`,
        provider: providerSource(provider),
        count,
        tainted,
      }))
      .sort((a, b) => a.address.localeCompare(b.address)),
  ])
}

/** `provider["registry.terraform.io/hashicorp/aws"]` → `registry.terraform.io/hashicorp/aws`. */
function providerSource(provider: string) {
  return /^provider\["(.+)"\]/.exec(provider)?.[1] ?? provider
}

function ResourceLine({ row }: { row: ResourceRow }) {
  if (row.kind === 'module')
    return (
      <h3 className="border-b border-line bg-ground px-3 py-1 font-medium">
        {row.name === 'root' ? 'Root module' : <code>{row.name}</code>}
      </h3>
    )
  const { address, provider, count, tainted } = row
  return (
    <div className="flex items-baseline gap-3 border-b border-line px-3 py-1">
      <code className="min-w-0 flex-1">{address}</code>
      <TaintedBadge tainted={tainted} count={count} />
      <span className="truncate text-dim max-md:hidden">{provider}</span>
      <span className="numeric w-12 shrink-0 text-right text-dim">
        {count > 1 ? `× ${count.toLocaleString('en')}` : ''}
      </span>
    </div>
  )
}

/** The outputs of a version. Revealing a sensitive value is recorded in the audit trail. */
export function VersionOutputs({ id }: { id: string }) {
  const [page, setPage] = useState(1)
  const outputs = useVersionOutputs(id, page)
  const failure = failureOf(outputs)
  const { data } = outputs
  if (failure?.error instanceof ApiError && failure.error.status === 503)
    return <Notice role="status">The outputs are being extracted. This page updates automatically.</Notice>
  if (failure) return <ErrorNote {...failure} />
  if (!data) return <Skeleton rows={4} label="Loading outputs" />
  if (data.data.length === 0) return <p className="text-dim">No outputs</p>
  return (
    <>
      <Table label="Outputs" columns={OUTPUT_COLUMNS} rows={data.data} />
      <Pager pagination={data.meta.pagination} onPage={setPage} />
    </>
  )
}
