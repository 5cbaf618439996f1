import { useState } from 'react'
import { ActiveFilters, SearchField } from '../../components/filters.tsx'
import { TextField } from '../../components/form.tsx'
import { Picker } from '../../components/picker.tsx'
import { exactTime } from '../../components/time.tsx'
import { type AuditSearch, NO_FILTER } from './audit-search.ts'
import { type Scope, findActors } from './audit-trail.ts'
import { ACTIONS, type AuditEvent, RESOURCE_TYPES, actionText, actorName, typeText } from './event-text.ts'

const HOUR_MS = 3_600_000
const PERIODS = [
  ['1', 'Last hour'],
  ['24', 'Last 24 hours'],
  ['168', 'Last 7 days'],
  ['720', 'Last 30 days'],
] as const

type AuditFiltersProps = {
  scope: Scope
  search: AuditSearch
  /** The shown events, which know the names of people. */
  events: readonly AuditEvent[]
  onChange: (change: AuditSearch, options?: { isTyping?: boolean }) => void
}

export function AuditFilters({ scope, search, events, onChange }: AuditFiltersProps) {
  return (
    <div className="mb-3 space-y-2.5">
      <div className="flex flex-wrap items-end gap-2">
        <SearchField
          label="Search events"
          placeholder="Name, address, request ID…"
          value={search.q ?? ''}
          onChange={(q) => onChange({ q: q || undefined }, { isTyping: true })}
        />
        <Picker
          label="User"
          placeholder="Name, or ID such as user-…"
          about={['audit-trail', scope.organization ?? '', 'actors']}
          load={findActors(scope)}
          freeText={(text) => (/^[a-z]+-\w+$/.test(text) ? { value: text, text: `ID ${text}` } : undefined)}
          onChoose={({ value }) => onChange({ actor: value })}
        />
        <Picker
          label="Resource"
          placeholder="Type, or ID such as ws-…"
          about={['audit-types']}
          load={(text) => among(Object.entries(RESOURCE_TYPES), text)}
          freeText={(text) => (text.includes('-') ? { value: text, text: `ID ${text}` } : undefined)}
          onChoose={({ value }) => onChange(value.includes('-') ? { resource: value } : { type: value })}
        />
        <Picker
          label="Action"
          about={['audit-actions']}
          load={(text) =>
            among(
              ACTIONS.map((name) => [name, actionText(name)] as const),
              text,
            )
          }
          freeText={(text) => ({ value: text, text })}
          onChoose={({ value }) => onChange({ action: value })}
        />
        <Picker
          label="Period"
          about={['audit-periods']}
          load={(text) => among(PERIODS, text)}
          onChoose={({ value }) =>
            onChange({ since: new Date(Date.now() - Number(value) * HOUR_MS).toISOString(), until: undefined })
          }
        />
        <TimeField
          key={`since ${search.since}`}
          label="From"
          value={search.since}
          onChange={(since) => onChange({ since })}
        />
        <TimeField
          key={`until ${search.until}`}
          label="Until"
          value={search.until}
          onChange={(until) => onChange({ until })}
        />
      </div>
      <ActiveFilters
        filters={activeFilters(search, events).map(({ field, ...filter }) => ({
          ...filter,
          onRemove: () => onChange({ [field]: undefined }),
        }))}
        onClear={() => onChange(NO_FILTER)}
      />
    </div>
  )
}

function among(options: readonly (readonly [value: string, text: string])[], text: string) {
  const matching = options.filter(([, name]) => name.toLowerCase().includes(text.toLowerCase()))
  return matching.map(([value, name]) => ({ value, text: name }))
}

function activeFilters({ actor, type, resource, action, since, until }: AuditSearch, events: readonly AuditEvent[]) {
  function nameOf(id: string) {
    const auth = events.find(({ auth }) => auth.accessor_id === id)?.auth
    return auth?.token ? actorName(auth.token.owner) : (auth?.description ?? id)
  }
  return [
    { field: 'actor', name: 'User', value: actor && nameOf(actor) },
    { field: 'type', name: 'Type', value: type && typeText(type) },
    { field: 'resource', name: 'Resource', value: resource },
    { field: 'action', name: 'Action', value: action && actionText(action) },
    { field: 'since', name: 'From', value: since && exactTime(since) },
    { field: 'until', name: 'Until', value: until && exactTime(until) },
  ].flatMap(({ value, ...filter }) => (value ? [{ ...filter, value }] : []))
}

type TimeFieldProps = { label: string; value: string | undefined; onChange: (value: string | undefined) => void }

/** A time in the user's time zone; takes effect when the user leaves the field. */
function TimeField({ label, value, onChange }: TimeFieldProps) {
  const [text, setText] = useState(() => (value === undefined ? '' : localTime(value)))
  function apply() {
    const next = text === '' ? undefined : new Date(text).toISOString()
    if (text !== (value === undefined ? '' : localTime(value))) onChange(next)
  }
  return (
    <TextField
      label={label}
      type="datetime-local"
      value={text}
      onChange={({ target }) => setText(target.value)}
      onBlur={apply}
      onKeyDown={({ key }) => key === 'Enter' && apply()}
    />
  )
}

/** `2030-01-31T12:00` in the user's time zone. */
function localTime(at: string) {
  const time = new Date(at)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
