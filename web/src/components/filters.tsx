import { type AnyRouter, useRouter } from '@tanstack/react-router'
import { ChevronDown, ChevronUp, type LucideIcon, Search, X } from 'lucide-react'
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react'
import { Button, IconButton } from './button.tsx'
import { TONE_TEXT, type Tone } from './status.tsx'

const SEARCH_DEBOUNCE_MS = 200

type SearchFieldProps = {
  label: string
  /** Comes from the URL and may change there, as by Back. */
  value: string
  onChange: (value: string) => void
  placeholder?: string
  className?: string
}

export function SearchField({ label, value, onChange, placeholder = label, className = 'w-72' }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const sent = useRef(value)
  const router = useRouter()
  const send = useEffectEvent((change: string) => {
    if (isLeavingPage(router)) return
    sent.current = change
    onChange(change)
  })

  useEffect(() => {
    if (value === sent.current) return
    sent.current = value
    setText(value)
  }, [value])

  useEffect(() => {
    if (text === sent.current) return undefined
    const timer = setTimeout(() => send(text), SEARCH_DEBOUNCE_MS)
    return () => clearTimeout(timer)
  }, [text])

  return (
    <div className={`relative max-w-full ${className}`}>
      <Search size={15} className="absolute top-1/2 left-2.5 -translate-y-1/2 text-dim" />
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setText(event.target.value)}
        className="h-8 w-full rounded-md border border-line-strong bg-paper pr-2 pl-8"
      />
    </div>
  )
}

/** Whether the next page is loading. A change of the search parameters would then return to the current one. */
export function isLeavingPage({ latestLocation, state }: Pick<AnyRouter, 'latestLocation' | 'state'>) {
  return state.resolvedLocation !== undefined && state.resolvedLocation.pathname !== latestLocation.pathname
}

type MatchSearchProps = Omit<SearchFieldProps, 'placeholder'> & {
  /** The number of matches and the position of the current one. */
  status: ReactNode
  hasMatches: boolean
  onStep: (by: 1 | -1) => void
}

/** A search within a text, whose matches can be stepped through with buttons or Enter and Shift Enter. */
export function MatchSearch({ status, hasMatches, onStep, ...field }: MatchSearchProps) {
  const button = { size: 'small', reason: hasMatches ? undefined : 'no matches' } as const
  return (
    <div
      role="search"
      className="flex min-w-0 flex-wrap items-center gap-1"
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return
        event.preventDefault()
        onStep(event.shiftKey ? -1 : 1)
      }}
    >
      <SearchField {...field} />
      {field.value !== '' && (
        <>
          <IconButton {...button} icon={ChevronUp} label="Previous match (Shift Enter)" onClick={() => onStep(-1)} />
          <IconButton {...button} icon={ChevronDown} label="Next match (Enter)" onClick={() => onStep(1)} />
        </>
      )}
      <span role="status" className="numeric px-1 text-dim">
        {status}
      </span>
    </div>
  )
}

export type Chip = { value: string; text: string; count?: number | undefined; tone?: Tone; icon?: LucideIcon }

type FilterChipsProps = {
  label: string
  chips: readonly Chip[]
  selected: ReadonlySet<string>
  onToggle: (value: string) => void
}

export function FilterChips({ label, chips, selected, onToggle }: FilterChipsProps) {
  return (
    <div role="group" aria-label={label} className="flex flex-wrap gap-1.5">
      {chips.map(({ value, text, count, tone = 'quiet', icon: Icon }) => (
        <button
          key={value}
          type="button"
          aria-pressed={selected.has(value)}
          onClick={() => onToggle(value)}
          className={`inline-flex h-7 cursor-pointer items-center gap-1.5 rounded-full border border-line bg-paper px-2.5 hover:bg-hover aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-ink ${count === 0 ? 'text-dim' : ''}`}
        >
          {Icon && <Icon size={14} className={count === 0 ? 'text-dim' : TONE_TEXT[tone]} />}
          {text}
          {count !== undefined && <span className="numeric text-dim">{count.toLocaleString('en')}</span>}
        </button>
      ))}
    </div>
  )
}

type ActiveFilterProps = { name: string; value: string; onRemove: () => void }

/** The filters in effect, which can be removed one by one or together. */
export function ActiveFilters({ filters, onClear }: { filters: readonly ActiveFilterProps[]; onClear: () => void }) {
  if (filters.length === 0) return null
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {filters.map((filter) => (
        <ActiveFilter key={`${filter.name} ${filter.value}`} {...filter} />
      ))}
      <Button label="Clear all" kind="quiet" size="small" onClick={onClear} />
    </div>
  )
}

function ActiveFilter({ name, value, onRemove }: ActiveFilterProps) {
  return (
    <span className="inline-flex h-7 items-center gap-1 rounded-full border border-accent bg-accent-soft pr-1 pl-2.5">
      <span className="text-dim">{name}:</span> {value}
      <button
        type="button"
        aria-label={`Remove the filter ${name} ${value}`}
        onClick={onRemove}
        className="cursor-pointer rounded-full p-0.5 hover:bg-hover"
      >
        <X size={14} />
      </button>
    </span>
  )
}

const DEBOUNCE_MS = 150

/** A debounced text, for requests to the server. */
export function useSettled(text: string) {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), DEBOUNCE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
