import type { PageOnWire } from '@groundstate/contract/responses'
import { RUN_GROUP_NAMES } from '@groundstate/contract/run-status'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { get, queryString } from '../../../api/client.ts'
import { Button } from '../../../components/button.tsx'
import { ActiveFilter, FilterChips, SearchField } from '../../../components/filters.tsx'
import { Picker } from '../../../components/picker.tsx'
import { useSession } from '../../session/session.ts'
import { ORIGINS } from '../run-origin.tsx'
import { RUN_GROUP_STYLE } from '../run-status.tsx'
import { FILTERS, OPERATIONS, type RunSearch } from './runs-query.ts'

/** `isTyping` changes replace the history entry. */
export type ChangeSearch = (change: Partial<RunSearch>, options?: { isTyping?: boolean }) => void

/** The change that removes all filters. */
export const NO_FILTER: Partial<RunSearch> = Object.fromEntries(FILTERS.map((name) => [name, undefined]))

export function isFiltered(search: RunSearch) {
  return FILTERS.some((name) => search[name] !== undefined)
}

type RunFiltersProps = {
  organization: string
  /** Whether the list contains runs of several workspaces. */
  hasWorkspaces: boolean
  search: RunSearch
  onChange: ChangeSearch
}

export function RunFilters({ organization, hasWorkspaces, search, onChange }: RunFiltersProps) {
  const groups = new Set((search.status ?? '').split(',').filter((group) => group !== ''))
  const username = useSession().data?.attributes.username
  return (
    <div className="mb-3 space-y-2.5">
      <FilterChips
        label="Status"
        chips={RUN_GROUP_NAMES.map((value) => ({ value, ...RUN_GROUP_STYLE[value] }))}
        chosen={groups}
        onToggle={(value) => {
          const next = [...groups.symmetricDifference(new Set([value]))]
          onChange({ status: next.join(',') || undefined })
        }}
      />
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          label="Search by message or run ID"
          value={search.q ?? ''}
          onChange={(q) => onChange({ q: q || undefined }, { isTyping: true })}
        />
        {hasWorkspaces && (
          <Picker
            label="Workspace"
            about={['workspaces', organization]}
            load={async (text, signal) => workspaceChoices(organization, text, signal)}
            onChoose={({ value }) => onChange({ workspace: value })}
          />
        )}
        <Picker
          label="Source"
          about={['run-origins']}
          load={(text) => choices(ORIGIN_NAMES, text)}
          onChoose={({ value }) => onChange({ source: value })}
        />
        <Picker
          label="Operation"
          about={['run-operations']}
          load={(text) => choices(OPERATIONS, text)}
          onChoose={({ value }) => onChange({ operation: value })}
        />
        {/* Accepts any name: a user who can read runs may not be able to list the members. */}
        <Picker
          label="User"
          placeholder="Username"
          about={['run-people']}
          load={(text) => (username?.includes(text) ? [{ value: username, text: username, about: 'you' }] : [])}
          freeText={(text) => ({ value: text, text })}
          onChoose={({ value }) => onChange({ user: value })}
        />
      </div>
      <ActiveFilters search={search} onChange={onChange} />
    </div>
  )
}

const ORIGIN_NAMES = Object.fromEntries(Object.entries(ORIGINS).map(([name, { text }]) => [name, text]))

function choices(names: Readonly<Record<string, string>>, text: string) {
  return Object.entries(names)
    .filter(([, name]) => name.toLowerCase().includes(text.toLowerCase()))
    .map(([value, name]) => ({ value, text: name }))
}

async function workspaceChoices(organization: string, text: string, signal: AbortSignal) {
  const path = `/organizations/${organization}/workspaces${queryString({ 'search[name]': text, 'page[size]': 20 })}`
  const { data } = await get<PageOnWire<typeof workspaceSchema>>(path, signal)
  return data.map(({ attributes: { name } }) => ({ value: name, text: name }))
}

function ActiveFilters({ search, onChange }: { search: RunSearch; onChange: ChangeSearch }) {
  const { workspace, source = '', operation = '', user } = search
  const filters = [
    ['workspace', 'Workspace', workspace],
    ['source', 'Source', ORIGIN_NAMES[source] ?? source],
    ['operation', 'Operation', OPERATIONS[operation] ?? operation],
    ['user', 'User', user],
  ] as const
  const active = filters.filter(([, , value]) => value)
  if (active.length === 0) return null
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {active.map(([name, text, value]) => (
        <ActiveFilter key={name} name={text} value={value ?? ''} onRemove={() => onChange({ [name]: undefined })} />
      ))}
      <Button kind="quiet" size="small" label="Clear filters" onClick={() => onChange(NO_FILTER)} />
    </div>
  )
}
