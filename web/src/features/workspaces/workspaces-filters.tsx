import type { PageOnWire } from '@groundstate/contract/responses'
import { RUN_GROUP_NAMES } from '@groundstate/contract/run-status'
import type { tagSchema } from '@groundstate/contract/tags'
import { CircleDashed, Lock, Waves } from 'lucide-react'
import { get, queryString } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ActiveFilter, type Chip, FilterChips, SearchField } from '../../components/filters.tsx'
import { Picker } from '../../components/picker.tsx'
import { useOverview } from '../overview/overview.ts'
import { RUN_GROUP_STYLE } from '../runs/run-status.tsx'
import { readTag, readTags, tagText } from './tag-filter.ts'
import { type ListedWorkspace, type WorkspaceSearch, findProjects, useProjectName } from './workspaces.ts'

export type ChangeSearch = (change: Partial<WorkspaceSearch>, options?: { isTyping?: boolean }) => void

/** Filters of the address; `sort` and `page` are none. */
export const NO_FILTER = {
  q: undefined,
  status: undefined,
  project: undefined,
  tag: undefined,
  version: undefined,
  locked: undefined,
  drifted: undefined,
} as const satisfies Partial<WorkspaceSearch>

/** Filters of the list of workspaces. Tags and versions of the shown `rows` are suggested. */
export function WorkspacesFilters({ organization, search, rows, onChange }: WorkspacesFiltersProps) {
  return (
    <div className="mb-3 space-y-2.5">
      <CountedChips organization={organization} search={search} onChange={onChange} />
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          label="Search by name"
          value={search.q ?? ''}
          onChange={(q) => onChange({ q: q === '' ? undefined : q }, { isTyping: true })}
        />
        <Picker
          label="Project"
          about={['projects', organization]}
          load={async (text, signal) => findProjects({ organization }, text, signal)}
          onChoose={({ value }) => onChange({ project: value })}
        />
        <TagPicker organization={organization} search={search} rows={rows} onChange={onChange} />
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
      <ActiveFilters search={search} onChange={onChange} />
    </div>
  )
}

type WorkspacesFiltersProps = {
  organization: string
  search: WorkspaceSearch
  rows: readonly ListedWorkspace[]
  onChange: ChangeSearch
}

/** The counts are those of the whole organization, so that they say where to look whatever is filtered. */
function CountedChips({ organization, search, onChange }: Omit<WorkspacesFiltersProps, 'rows'>) {
  const counts = useOverview(organization).data?.overview.workspaces
  const groups = new Set((search.status ?? '').split(',').filter((group) => group !== ''))
  const groupChips: Chip[] = [
    ...RUN_GROUP_NAMES.map((value) => ({
      value,
      ...RUN_GROUP_STYLE[value],
      count: counts?.[value === 'needs_approval' ? 'needs-approval' : value],
    })),
    { value: 'none', text: 'No runs', icon: CircleDashed, count: counts?.['without-runs'] },
  ]
  const marks = (['locked', 'drifted'] as const).filter((name) => search[name] === 'true')
  return (
    <div className="flex flex-wrap gap-x-4 gap-y-1.5">
      <FilterChips
        label="Status"
        chips={groupChips}
        chosen={groups}
        onToggle={(value) => {
          const next = [...groups.symmetricDifference(new Set([value]))]
          onChange({ status: next.length === 0 ? undefined : next.join(',') })
        }}
      />
      <FilterChips
        label="Lock and drift"
        chips={[
          { value: 'locked', text: 'Locked', icon: Lock, count: counts?.locked },
          { value: 'drifted', text: 'Drift', icon: Waves, tone: 'warn', count: counts?.drifted },
        ]}
        chosen={new Set(marks)}
        onToggle={(value) => onChange({ [value]: marks.some((mark) => mark === value) ? undefined : 'true' })}
      />
    </div>
  )
}

function TagPicker({ organization, search, rows, onChange }: WorkspacesFiltersProps) {
  const add = (tag: string) => {
    const tags = new Set([...readTags(search.tag).map(tagText), tag])
    onChange({ tag: [...tags].join(',') })
  }
  return (
    <Picker
      label="Tag"
      placeholder="A key, or key=value"
      about={['tags', organization, rows.length]}
      load={async (text, signal) => findTags({ organization, rows }, text, signal)}
      freeText={(text) => ({ value: tagText(readTag(text)), text })}
      onChoose={({ value }) => add(value)}
    />
  )
}

/** The API lists tags without a value only; those with one are suggested from what the page shows. */
async function findTags(
  { organization, rows }: { organization: string; rows: readonly ListedWorkspace[] },
  text: string,
  signal: AbortSignal,
) {
  const query = queryString({ q: text, 'page[size]': 30 })
  const { data } = await get<PageOnWire<typeof tagSchema>>(`/organizations/${organization}/tags${query}`, signal)
  const shown = rows.flatMap(({ tags }) => tags.map(tagText)).filter((tag) => tag.includes(text))
  const known = data.map(({ attributes }) => tagText({ key: attributes.name, value: '' }))
  return [...new Set([...shown, ...known])].toSorted().map((tag) => ({ value: tag, text: tag }))
}

function ActiveFilters({ search, onChange }: Pick<WorkspacesFiltersProps, 'search' | 'onChange'>) {
  const project = useProjectName(search.project)
  const tags = readTags(search.tag).map(tagText)
  const single = (
    [
      ['project', 'Project', project.data ?? search.project],
      ['version', 'Engine version', search.version],
    ] as const
  ).filter(([name]) => search[name] !== undefined)
  if (single.length === 0 && tags.length === 0) return null
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {single.map(([name, text, value]) => (
        <ActiveFilter
          key={name}
          name={text}
          value={value ?? search[name] ?? ''}
          onRemove={() => onChange({ [name]: undefined })}
        />
      ))}
      {tags.map((tag) => (
        <ActiveFilter
          key={tag}
          name="Tag"
          value={tag}
          onRemove={() => onChange({ tag: tags.filter((other) => other !== tag).join(',') || undefined })}
        />
      ))}
      <Button kind="quiet" size="small" onClick={() => onChange(NO_FILTER)}>
        Clear all
      </Button>
    </div>
  )
}
