import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

export function ErrorNote({ error }: { error: Error }) {
  return (
    <p
      role="alert"
      className="rounded-md border border-red-300 bg-red-50 px-4 py-3 text-sm whitespace-pre-line text-red-800 dark:border-red-900 dark:bg-red-950 dark:text-red-200"
    >
      {error.message}
    </p>
  )
}

export function EmptyState({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="rounded-lg border border-dashed border-slate-300 px-8 py-12 text-center dark:border-slate-700">
      <h2 className="font-medium">{title}</h2>
      <div className="mt-2 text-sm text-slate-600 dark:text-slate-400">{children}</div>
    </section>
  )
}

/** The page for an unknown address, with a link to continue. */
export function NotFound() {
  return (
    <EmptyState title="There is no such page">
      <Link to="/app" className="text-indigo-700 underline dark:text-indigo-400">
        Your organizations
      </Link>
    </EmptyState>
  )
}

export function WaitingNote({ children }: { children: ReactNode }) {
  return (
    <p
      role="status"
      className="mt-4 rounded-md bg-amber-50 px-4 py-3 text-sm text-amber-900 dark:bg-amber-950 dark:text-amber-200"
    >
      {children}
    </p>
  )
}

export function Loading() {
  return (
    <p role="status" className="py-8 text-sm text-slate-500">
      Loading…
    </p>
  )
}

const TONES = {
  good: 'bg-emerald-100 text-emerald-800 dark:bg-emerald-950 dark:text-emerald-300',
  bad: 'bg-red-100 text-red-800 dark:bg-red-950 dark:text-red-300',
  busy: 'bg-indigo-100 text-indigo-800 dark:bg-indigo-950 dark:text-indigo-300',
  waiting: 'bg-amber-100 text-amber-900 dark:bg-amber-950 dark:text-amber-300',
  quiet: 'bg-slate-200 text-slate-700 dark:bg-slate-800 dark:text-slate-300',
} as const
export type Tone = keyof typeof TONES

export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={`rounded-full px-2.5 py-0.5 text-xs font-medium whitespace-nowrap ${TONES[tone]}`}>
      {children}
    </span>
  )
}
