import type { PageOnWire } from '@groundstate/contract/responses'
import { RUN_GROUP_NAMES } from '@groundstate/contract/run-status'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { get, queryString } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ActiveFilter, FilterChips, SearchField } from '../../components/filters.tsx'
import { Picker } from '../../components/picker.tsx'
import { useSession } from '../session/session.ts'
import { GROUP_LOOKS } from './run-groups.ts'
import { ORIGINS, type Origin } from './run-origin.tsx'
import { OPERATIONS, type RunSearch } from './runs-list-query.ts'

type Change = (change: Partial<RunSearch>, options?: { isTyping?: boolean }) => void

/** What a list of runs is narrowed by. `isTyping` is a change that shall not fill the history of the browser. */
export function RunsFilters({
  organization,
  hasWorkspaces,
  search,
  onChange,
}: {
  organization: string
  /** Whether the list has runs of several workspaces. */
  hasWorkspaces: boolean
  search: RunSearch
  onChange: Change
}) {
  const groups = new Set((search.status ?? '').split(',').filter((group) => group !== ''))
  return (
    <div className="mb-3 space-y-2.5">
      <FilterChips
        label="Status"
        chips={RUN_GROUP_NAMES.map((value) => ({ value, ...GROUP_LOOKS[value] }))}
        chosen={groups}
        onToggle={(value) => {
          const next = [...groups.symmetricDifference(new Set([value]))]
          onChange({ status: next.length === 0 ? undefined : next.join(',') })
        }}
      />
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          label="Search by message or id"
          value={search.q ?? ''}
          onChange={(q) => onChange({ q: q === '' ? undefined : q }, { isTyping: true })}
        />
        {hasWorkspaces && <WorkspacePicker organization={organization} onChange={onChange} />}
        <Picker
          label="From"
          about={['run-origins']}
          load={(text) => choicesOf(ORIGINS_BY_NAME, text)}
          onChoose={({ value }) => onChange({ source: value })}
        />
        <Picker
          label="Kind"
          about={['run-operations']}
          load={(text) => choicesOf(Object.entries(OPERATIONS), text)}
          onChoose={({ value }) => onChange({ operation: value })}
        />
        <PersonPicker onChange={onChange} />
      </div>
      <ActiveRunFilters search={search} onChange={onChange} />
    </div>
  )
}

const ORIGINS_BY_NAME = Object.entries(ORIGINS).map(([name, { text }]) => [name, text] as const)

function choicesOf(entries: readonly (readonly [string, string])[], text: string) {
  return entries
    .filter(([, name]) => name.toLowerCase().includes(text.toLowerCase()))
    .map(([value, name]) => ({ value, text: name }))
}

function WorkspacePicker({ organization, onChange }: { organization: string; onChange: Change }) {
  return (
    <Picker
      label="Workspace"
      about={['workspaces', organization]}
      load={async (text, signal) => {
        const query = queryString({ 'search[name]': text, 'page[size]': 20 })
        const { data } = await get<PageOnWire<typeof workspaceSchema>>(
          `/organizations/${organization}/workspaces${query}`,
          signal,
        )
        return data.map(({ attributes: { name } }) => ({ value: name, text: name }))
      }}
      onChoose={({ value }) => onChange({ workspace: value })}
    />
  )
}

/** Who may see the members of an organization is not who may see its runs, so any name can be written. */
function PersonPicker({ onChange }: { onChange: Change }) {
  const own = useSession().data?.attributes.username
  return (
    <Picker
      label="Person"
      placeholder="A username"
      about={['run-people']}
      load={(text) => (own?.includes(text) ? [{ value: own, text: own, about: 'you' }] : [])}
      freeText={(text) => ({ value: text, text })}
      onChoose={({ value }) => onChange({ user: value })}
    />
  )
}

function ActiveRunFilters({ search, onChange }: { search: RunSearch; onChange: Change }) {
  const active = (
    [
      ['workspace', 'Workspace', search.workspace],
      ['source', 'From', search.source && (ORIGINS[search.source as Origin]?.text ?? search.source)],
      ['operation', 'Kind', search.operation && operationText(search.operation)],
      ['user', 'Person', search.user],
    ] as const
  ).filter(([, , value]) => value !== undefined && value !== '')
  if (active.length === 0) return null
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {active.map(([name, text, value]) => (
        <ActiveFilter key={name} name={text} value={value ?? ''} onRemove={() => onChange({ [name]: undefined })} />
      ))}
      <Button kind="quiet" size="small" onClick={() => onChange(NO_FILTER)}>
        Clear all
      </Button>
    </div>
  )
}

function operationText(operation: string) {
  return (OPERATIONS as Record<string, string>)[operation] ?? operation
}

/** The change that takes all filters away. */
export const NO_FILTER = {
  q: undefined,
  status: undefined,
  source: undefined,
  operation: undefined,
  user: undefined,
  workspace: undefined,
} as const satisfies Partial<RunSearch>
