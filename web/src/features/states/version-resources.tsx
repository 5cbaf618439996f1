import { getRouteApi } from '@tanstack/react-router'
import { failureOf } from '../../api/queries.ts'
import { ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { VirtualRows } from '../../components/virtual-rows.tsx'
import { type ResourceRow, resourceRows } from './resource-rows.ts'
import { type StateVersion, useVersionResources } from './states.ts'
import { TaintedBadge } from './tainted-badge.tsx'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/states')

/** Longer lists scroll in a pane of their own, of which only what is in sight is drawn. */
const MOST_PLAIN = 80

/** What a version has, by module. */
export function VersionResources({ version }: { version: StateVersion }) {
  const { q = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const read = useVersionResources(version.id)
  const failure = failureOf(read)
  const { data: resources } = read
  if (failure) return <ErrorNote {...failure} />
  if (!resources) return <Skeleton rows={8} label="Loading the resources" />
  if (resources.length === 0)
    return version.attributes['resources-processed'] ? <p className="text-dim">This state has no resources.</p> : null
  const rows = resourceRows(resources, q)
  return (
    <div className="space-y-3">
      <SearchField
        label="Search resources"
        value={q}
        onChange={(text) =>
          void navigate({
            search: (before) => ({ ...before, q: text || undefined }),
            replace: true,
            resetScroll: false,
          })
        }
        className="w-full sm:w-72"
      />
      {rows.length === 0 ? (
        <Notice>No resource has “{q}” in its address or provider.</Notice>
      ) : rows.length <= MOST_PLAIN ? (
        <div className="rounded-lg border border-line bg-paper">
          {rows.map((row) => (
            <ResourceLine key={row.key} row={row} />
          ))}
        </div>
      ) : (
        <VirtualRows
          label="Resources"
          count={rows.length}
          rowHeight={29}
          keyOf={(at) => rows[at]?.key ?? at}
          className="max-h-[70vh] rounded-lg border border-line bg-paper"
          render={(at) => {
            const row = rows[at]
            return row && <ResourceLine row={row} />
          }}
        />
      )}
    </div>
  )
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
