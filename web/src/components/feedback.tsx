import { CircleAlert, CircleCheck, Info, type LucideIcon, TriangleAlert } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { ApiError, isNotFound } from '../api/client.ts'
import { failureOf } from '../api/queries.ts'
import { Button } from './button.tsx'
import { ListLink, type ListName } from './links.tsx'
import { capitalized } from './numbers.ts'
import { Page } from './page.tsx'
import { withLocalTimes } from './time.tsx'

const NOTICES = {
  bad: { look: 'border-bad/30 bg-bad-soft text-bad', icon: CircleAlert },
  warn: { look: 'border-warn/30 bg-warn-soft text-warn', icon: TriangleAlert },
  good: { look: 'border-good/30 bg-good-soft text-good', icon: CircleCheck },
  info: { look: 'border-busy/30 bg-busy-soft text-busy', icon: Info },
} as const

type NoticeProps = { tone?: keyof typeof NOTICES; role?: 'alert' | 'status'; actions?: ReactNode; children: ReactNode }

export function Notice({ tone = 'info', role, actions, children }: NoticeProps) {
  const { look, icon: Icon } = NOTICES[tone]
  return (
    <div role={role} className={`flex items-start gap-2 rounded-md border px-3 py-2 ${look}`}>
      <Icon size={16} className="mt-0.5 shrink-0" />
      <div className="min-w-0 flex-1 whitespace-pre-line">{children}</div>
      {actions}
    </div>
  )
}

export function ErrorNote({ error, onRetry }: { error: Error; onRetry?: (() => void) | undefined }) {
  return (
    <Notice tone="bad" role="alert" actions={onRetry && <Button size="small" label="Try again" onClick={onRetry} />}>
      {error instanceof ApiError
        ? withLocalTimes(error.message)
        : `The server can’t be reached: ${error.message}. Check the connection and try again.`}
    </Notice>
  )
}

type Query<Data> = { data: Data | undefined; error: Error | null; refetch: () => Promise<unknown> }

/** The data of a query, and what to render until it is defined: `if (!data) return fallback`. */
export function loaded<Data>(
  query: Query<Data>,
  skeleton?: SkeletonProps,
): { data: Data | undefined; fallback: ReactNode } {
  const failure = failureOf(query)
  if (failure) return { data: undefined, fallback: <ErrorNote {...failure} /> }
  return { data: query.data, fallback: <Skeleton {...skeleton} /> }
}

type ErrorPageProps = {
  error: Error
  what: string
  /** A sentence about the missing resource: `No workspace named “web” in main.` */
  missing?: string
  /** The list of such resources, to continue there. */
  list?: ListName
  onRetry?: () => void
  children?: ReactNode
}

/** A page that cannot be shown: its resource does not exist, is not accessible, or failed to load. */
export function ErrorPage({ error, what, missing = '', list, onRetry, children }: ErrorPageProps) {
  if (isNotFound(error)) {
    return (
      <NotFoundPage title={`${capitalized(what)} not found`}>
        {missing} It may have been deleted or renamed, or you don’t have access: an owner of the organization can grant
        it.{' '}
        {list && (
          <ListLink list={list} className="text-accent underline">
            All {list.replace('-', ' ')}
          </ListLink>
        )}
        {children}
      </NotFoundPage>
    )
  }
  return (
    <Page title={`The ${what} could not be loaded`} documentTitle="Error">
      <ErrorNote error={error} onRetry={onRetry} />
    </Page>
  )
}

export function NotFoundPage({ title = 'Page not found', children }: { title?: string; children?: ReactNode }) {
  return (
    <Page title={title} documentTitle="Not found">
      <div className="max-w-xl space-y-4 text-dim">
        <div>{children ?? 'The address may be mistyped, or the page has moved.'}</div>
        <p>
          Press <kbd className="rounded border border-line px-1">Ctrl K</kbd> to search for a workspace or a run.
        </p>
      </div>
    </Page>
  )
}

type EmptyStateProps = { icon?: LucideIcon; title: string; actions?: ReactNode; text?: string; children?: ReactNode }

/** An empty state: what would be listed, and the next step. `text` is a single paragraph. */
export function EmptyState({ icon: Icon, title, actions, text, children }: EmptyStateProps) {
  const id = useId()
  const content = text === undefined ? children : <p>{text}</p>
  return (
    <section aria-labelledby={id} className="rounded-lg border border-dashed border-line-strong/60 px-6 py-10">
      <div className="mx-auto max-w-xl text-center">
        {Icon && <Icon size={24} className="mx-auto mb-3 text-dim" />}
        <h2 id={id} className="text-base font-semibold">
          {title}
        </h2>
        {content !== undefined && <div className="mt-2 space-y-3 text-dim">{content}</div>}
        {actions !== undefined && <div className="mt-4 flex flex-wrap justify-center gap-2">{actions}</div>}
      </div>
    </section>
  )
}

type SkeletonProps = { label?: string; rows?: number }

/** A loading placeholder with about as many rows as the content. */
export function Skeleton({ rows = 4, label = 'Loading' }: SkeletonProps) {
  return (
    <div role="status" aria-label={label} className="animate-pulse space-y-2 py-1">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="h-8 rounded-md bg-hover" style={{ width: `${100 - ((row * 7) % 25)}%` }} />
      ))}
    </div>
  )
}
