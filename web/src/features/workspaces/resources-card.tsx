import type { DocumentOnWire, PageOnWire } from '@groundstate/contract/responses'
import type { resourceCountsSchema, workspaceResourceSchema } from '@groundstate/contract/workspace-resources'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get, getData, queryString } from '../../api/client.ts'
import { keepWithin } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { loaded } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { SelectField } from '../../components/form.tsx'
import { localAddress } from '../../components/module-rows.tsx'
import { counted } from '../../components/numbers.ts'
import { Pager } from '../../components/pager.tsx'
import { TaintedBadge } from '../../components/status.tsx'
import { engineAddress } from '../runs/resource-address.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/')

type ResourceQuery = ReturnType<typeof route.useSearch>

const PAGE_SIZE = 25

export function ResourcesCard({ workspaceId }: { workspaceId: string }) {
  const query = route.useSearch()
  const navigate = route.useNavigate()
  const counts = useResourceCounts(workspaceId)
  const { data: page, fallback } = loaded(useResources(workspaceId, query), { rows: 6, label: 'Loading the resources' })
  const modules = Map.groupBy(page?.data ?? [], ({ attributes }) => attributes.module)
  const set = (change: ResourceQuery, replace = false) =>
    void navigate({ search: (before) => ({ ...before, page: undefined, ...change }), replace, resetScroll: false })

  if (counts.data?.total === 0)
    return (
      <Card title="Resources">
        <p className="text-dim">The current state has no resources.</p>
      </Card>
    )
  return (
    <Card title="Resources" about={counts.data && about(counts.data)}>
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          label="Search by address"
          value={query.q ?? ''}
          onChange={(q) => set({ q: q || undefined }, true)}
          className="w-full sm:w-64"
        />
        {(['module', 'type'] as const).map((name) => (
          <NameFilter
            key={name}
            all={`All ${name}s`}
            selected={query[name]}
            names={counts.data?.[`${name}s`] ?? []}
            onSelect={(value) => set({ [name]: value })}
          />
        ))}
      </div>
      <div className="mt-3">
        {!page && fallback}
        {page?.data.length === 0 && (
          <div className="flex flex-wrap items-center gap-3 text-dim">
            No resources match.
            <Button
              label="Show all"
              size="small"
              onClick={() => set({ q: undefined, module: undefined, type: undefined })}
            />
          </div>
        )}
        {[...modules].map(([module, members]) => (
          <Module key={module} name={module} resources={members} />
        ))}
        <Pager pagination={page?.meta.pagination} onPage={(page) => set({ page })} />
      </div>
    </Card>
  )
}

type Counts = NonNullable<ReturnType<typeof useResourceCounts>['data']>

function about({ total, modules, types }: Counts) {
  return `${counted(total, 'resource')} of ${counted(types.length, 'type')} in ${counted(modules.length, 'module')}`
}

type NameFilterProps = {
  all: string
  selected: string | undefined
  names: Counts['modules']
  onSelect: (name: string | undefined) => void
}

function NameFilter({ all, selected, names, onSelect }: NameFilterProps) {
  if (names.length < 2 && selected === undefined) return null
  const known = names.map(({ name, count }) => [name, `${name} (${count.toLocaleString('en')})`] as const)
  const isMissing = selected !== undefined && !names.some(({ name }) => name === selected)
  return (
    <SelectField
      label={all}
      isLabelHidden
      className="mt-0! w-auto! max-w-60"
      value={selected ?? ''}
      onChange={(event) => onSelect(event.target.value || undefined)}
      options={[['', all], ...known, ...(isMissing ? [[selected, selected] as const] : [])]}
    />
  )
}

type Resources = PageOnWire<typeof workspaceResourceSchema>

function Module({ name, resources }: { name: string; resources: Resources['data'] }) {
  return (
    <section className="mt-3 first:mt-0">
      <h3 className="font-medium">{name === 'root' ? 'Root module' : <code>{name}</code>}</h3>
      <ul className="mt-1 divide-y divide-line rounded-md border border-line">
        {resources.map(({ id, attributes }) => (
          <li key={id} className="group flex items-center gap-2 px-3 py-1">
            <code className="min-w-0 flex-1">{localAddress(attributes.address, name)}</code>
            <TaintedBadge tainted={attributes.tainted === true ? 1 : 0} />
            <span className="text-dim max-md:hidden">{attributes.provider}</span>
            <CopyButton text={engineAddress(attributes)} label={`Copy the address of ${attributes.address}`} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function useResources(workspaceId: string, { q, module, type, page = 1 }: ResourceQuery) {
  return useQuery({
    queryKey: ['resources', workspaceId, { q, module, type, page }],
    placeholderData: keepWithin(workspaceId),
    queryFn: async () => {
      const search = queryString({
        q,
        'filter[module]': module,
        'filter[type]': type,
        sort: 'module:asc',
        'page[number]': page,
        'page[size]': PAGE_SIZE,
      })
      return get<Resources>(`/workspaces/${workspaceId}/resources${search}`)
    },
  })
}

function useResourceCounts(workspaceId: string) {
  const path = `/workspaces/${workspaceId}/resource-counts`
  return useQuery({
    queryKey: ['resources', workspaceId, 'counts'],
    queryFn: async () => (await getData<DocumentOnWire<typeof resourceCountsSchema>>(path)).attributes,
  })
}
