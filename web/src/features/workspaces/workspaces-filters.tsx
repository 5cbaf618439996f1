import type { PageOnWire } from '@groundstate/contract/responses'
import type { tagValueSchema } from '@groundstate/contract/tags'
import { Lock, Waves } from 'lucide-react'
import { getData, queryString } from '../../api/client.ts'
import { ActiveFilters, FilterChips, SearchField } from '../../components/filters.tsx'
import { Picker } from '../../components/picker.tsx'
import { useOverview, workspaceGroups } from '../overview/overview.ts'
import { readTag, readTags, tagText } from './tag-filter.ts'
import { WORKSPACE_FILTERS, type WorkspaceSearch } from './workspaces-search.ts'
import { type ListedWorkspace, findProjects, useProjectName } from './workspaces.ts'

export type ChangeSearch = (change: Partial<WorkspaceSearch>, options?: { isTyping?: boolean }) => void

/** Search parameters that clear all filters; `sort` and `page` are none. */
export const NO_FILTER: Partial<WorkspaceSearch> = Object.fromEntries(
  Object.keys(WORKSPACE_FILTERS).map((name) => [name, undefined]),
)

type WorkspacesFiltersProps = {
  organization: string
  search: WorkspaceSearch
  rows: readonly ListedWorkspace[]
  onChange: ChangeSearch
}

/** Filters of the list of workspaces. Suggests engine versions of the current `rows`. */
export function WorkspacesFilters({ organization, search, rows, onChange }: WorkspacesFiltersProps) {
  return (
    <div className="mb-3 space-y-2.5">
      <CountedChips organization={organization} search={search} onChange={onChange} />
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          label="Search by name"
          value={search.q ?? ''}
          onChange={(q) => onChange({ q: q || undefined }, { isTyping: true })}
        />
        <Picker
          label="Project"
          about={['projects', organization]}
          load={findProjects(organization)}
          onChoose={({ value }) => onChange({ project: value })}
        />
        <Picker
          label="Tag"
          placeholder="A key, or key=value"
          about={['tags', organization]}
          load={async (text, signal) => findTags(organization, text, signal)}
          freeText={(text) => ({ value: tagText(readTag(text)), text })}
          onChoose={({ value }) => onChange({ tag: withTag(search.tag, value) })}
        />
        <Picker
          label="Engine version"
          placeholder="1.11.4, ~> 1.11, latest"
          about={['engine-versions', organization, rows.length]}
          load={(text) =>
            [...new Set(rows.map(({ attributes }) => attributes['engine-version']))]
              .filter((version) => version.includes(text))
              .toSorted()
              .map((version) => ({ value: version, text: version }))
          }
          freeText={(text) => ({ value: text, text })}
          onChoose={({ value }) => onChange({ version: value })}
        />
      </div>
      <ActiveFilters filters={useActiveFilters(search, onChange)} onClear={() => onChange(NO_FILTER)} />
    </div>
  )
}

/** Status filters with counts of the whole organization, whatever is filtered. */
function CountedChips({ organization, search, onChange }: Omit<WorkspacesFiltersProps, 'rows'>) {
  const counts = useOverview(organization).data?.overview.workspaces
  const groups = new Set(search.status?.split(',').filter(Boolean))
  const marks = (['locked', 'drifted'] as const).filter((name) => search[name] === 'true')
  return (
    <div className="flex flex-wrap gap-x-4 gap-y-1.5">
      <FilterChips
        label="Status"
        chips={workspaceGroups(counts)}
        selected={groups}
        onToggle={(value) => {
          onChange({ status: [...groups.symmetricDifference(new Set([value]))].join(',') || undefined })
        }}
      />
      <FilterChips
        label="Lock and drift"
        chips={[
          { value: 'locked', text: 'Locked', icon: Lock, count: counts?.locked },
          { value: 'drifted', text: 'Drift', icon: Waves, tone: 'warn', count: counts?.drifted },
        ]}
        selected={new Set(marks)}
        onToggle={(value) => onChange({ [value]: marks.some((mark) => mark === value) ? undefined : 'true' })}
      />
    </div>
  )
}

export function withTag(tags: string | undefined, tag: string) {
  return [...new Set([...readTags(tags).map(tagText), tag])].join(',')
}

/** Suggests tags by parts of their keys and values. */
async function findTags(organization: string, text: string, signal: AbortSignal) {
  const query = queryString({ q: text, 'page[size]': 30 })
  const data = await getData<PageOnWire<typeof tagValueSchema>>(
    `/organizations/${organization}/tag-values${query}`,
    signal,
  )
  return data.map(({ attributes }) => tagText(attributes)).map((tag) => ({ value: tag, text: tag }))
}

function useActiveFilters({ project, version = '', tag }: WorkspaceSearch, onChange: ChangeSearch) {
  const { data: projectName = project } = useProjectName(project)
  const tags = readTags(tag).map(tagText)
  return [
    { name: 'Project', value: projectName ?? '', onRemove: () => onChange({ project: undefined }) },
    { name: 'Engine version', value: version, onRemove: () => onChange({ version: undefined }) },
    ...tags.map((value) => {
      const others = tags.filter((other) => other !== value).join(',')
      return { name: 'Tag', value, onRemove: () => onChange({ tag: others || undefined }) }
    }),
  ].filter(({ value }) => value !== '')
}
