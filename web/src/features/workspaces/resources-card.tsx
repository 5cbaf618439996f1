import { getRouteApi } from '@tanstack/react-router'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { SelectField } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { Pager } from '../../components/pager.tsx'
import { TaintedBadge } from '../../components/status.tsx'
import { engineAddress } from '../runs/resource-address.ts'
import { type ResourceQuery, type StateResource, byModule, useResourceCounts, useResources } from './resources.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/')

/** Resources of the current state, by module and type. */
export function ResourcesCard({ workspaceId }: { workspaceId: string }) {
  const query = route.useSearch()
  const navigate = route.useNavigate()
  const counts = useResourceCounts(workspaceId)
  const resources = useResources(workspaceId, query)
  const failure = failureOf(resources)
  const found = failure ? undefined : resources.data
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
        <Choice
          all="All modules"
          chosen={query.module}
          names={counts.data?.modules}
          onChoose={(module) => set({ module })}
        />
        <Choice all="All types" chosen={query.type} names={counts.data?.types} onChoose={(type) => set({ type })} />
      </div>
      <div className="mt-3">
        {resources.isPending && <Skeleton rows={6} label="Loading the resources" />}
        {failure && <ErrorNote {...failure} />}
        {found?.data.length === 0 && (
          <div className="flex flex-wrap items-center gap-3 text-dim">
            No resource matches.
            <Button size="small" onClick={() => set({ q: undefined, module: undefined, type: undefined })}>
              Show all
            </Button>
          </div>
        )}
        {found && byModule(found.data).map(([module, own]) => <Module key={module} name={module} resources={own} />)}
        <Pager pagination={found?.meta.pagination} onPage={(page) => set({ page })} />
      </div>
    </Card>
  )
}

type Counts = NonNullable<ReturnType<typeof useResourceCounts>['data']>

function about({ total, modules, types }: Counts) {
  return `${counted(total, 'resource')} of ${counted(types.length, 'type')} in ${counted(modules.length, 'module')}`
}

const NO_NAMES: Counts['modules'] = []

function Choice({
  all,
  chosen,
  names = NO_NAMES,
  onChoose,
}: {
  all: string
  chosen: string | undefined
  names: Counts['modules'] | undefined
  onChoose: (name: string | undefined) => void
}) {
  if (names.length < 2 && chosen === undefined) return null
  const known = names.map(({ name, count }) => [name, `${name} (${count.toLocaleString('en')})`] as const)
  const missing = chosen !== undefined && !names.some(({ name }) => name === chosen) ? [[chosen, chosen] as const] : []
  return (
    <SelectField
      label={all}
      isLabelHidden
      className="mt-0! w-auto! max-w-60"
      value={chosen ?? ''}
      onChange={(event) => onChoose(event.target.value || undefined)}
      options={[['', all], ...known, ...missing]}
    />
  )
}

function Module({ name, resources }: { name: string; resources: readonly StateResource[] }) {
  return (
    <section className="mt-3 first:mt-0">
      <h3 className="font-medium">{name === 'root' ? 'Root module' : <code>{name}</code>}</h3>
      <ul className="mt-1 divide-y divide-line rounded-md border border-line">
        {resources.map(({ id, attributes }) => (
          <li key={id} className="group flex items-center gap-2 px-3 py-1">
            <code className="min-w-0 flex-1">{withoutModule(attributes.address, name)}</code>
            <TaintedBadge tainted={attributes.tainted === true ? 1 : 0} />
            <span className="text-dim max-md:hidden">{attributes.provider}</span>
            <CopyButton text={engineAddress(attributes)} label={`Copy the address of ${attributes.address}`} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function withoutModule(address: string, module: string) {
  return module !== 'root' && address.startsWith(`${module}.`) ? address.slice(module.length + 1) : address
}
