import type { LucideIcon } from 'lucide-react'
import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { ApiError, isNotFound } from '../api/client.ts'
import { Button } from './button.tsx'
import { Page } from './page.tsx'

const NOTICES = {
  bad: { look: 'border-bad/30 bg-bad-soft text-bad', icon: CircleAlert },
  warn: { look: 'border-warn/30 bg-warn-soft text-warn', icon: TriangleAlert },
  good: { look: 'border-good/30 bg-good-soft text-good', icon: CircleCheck },
  info: { look: 'border-busy/30 bg-busy-soft text-busy', icon: Info },
} as const

/** Something that the reader should know before they go on; `actions` are what they can do about it. */
export function Notice({
  tone = 'info',
  role,
  actions,
  children,
}: {
  tone?: keyof typeof NOTICES
  role?: 'alert' | 'status'
  actions?: ReactNode
  children: ReactNode
}) {
  const { look, icon: Icon } = NOTICES[tone]
  return (
    <div role={role} className={`flex items-start gap-2 rounded-md border px-3 py-2 ${look}`}>
      <Icon size={16} aria-hidden="true" className="mt-0.5 shrink-0" />
      <div className="min-w-0 flex-1 whitespace-pre-line">{children}</div>
      {actions}
    </div>
  )
}

/** An error, with a retry button where that can help. */
export function ErrorNote({ error, onRetry }: { error: Error; onRetry?: (() => void) | undefined }) {
  const isResponse = error instanceof ApiError
  return (
    <Notice
      tone="bad"
      role="alert"
      actions={
        onRetry && (
          <Button size="small" onClick={onRetry}>
            Try again
          </Button>
        )
      }
    >
      {isResponse
        ? error.message
        : `The server can't be reached: ${error.message}. Check the connection and try again.`}
    </Notice>
  )
}

/** A page whose thing can't be shown: it is not there (or not for this person), or the response failed. */
export function ErrorPage({
  error,
  what,
  onRetry,
  children,
}: {
  error: Error
  what: string
  onRetry?: () => void
  children?: ReactNode
}) {
  if (isNotFound(error)) {
    return (
      <NotFoundPage title={`There is no such ${what}`}>
        It may have been deleted or renamed, or you may not see it: an owner of the organization can give you access.
        {children}
      </NotFoundPage>
    )
  }
  return (
    <Page title={`This ${what} can't be shown`} documentTitle="Error">
      <ErrorNote error={error} onRetry={onRetry} />
    </Page>
  )
}

export function NotFoundPage({ title = 'There is no such page', children }: { title?: string; children?: ReactNode }) {
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

/** An empty state: what would be listed, and the first step towards it. */
export function EmptyState({
  icon: Icon,
  title,
  actions,
  children,
}: {
  icon?: LucideIcon
  title: string
  actions?: ReactNode
  children?: ReactNode
}) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="rounded-lg border border-dashed border-line-strong/60 px-6 py-10">
      <div className="mx-auto max-w-xl text-center">
        {Icon && <Icon size={24} aria-hidden="true" className="mx-auto mb-3 text-dim" />}
        <h2 id={id} className="text-base font-medium">
          {title}
        </h2>
        {children !== undefined && <div className="mt-2 space-y-3 text-dim">{children}</div>}
        {actions !== undefined && <div className="mt-4 flex flex-wrap justify-center gap-2">{actions}</div>}
      </div>
    </section>
  )
}

/** The grey shape of what is being loaded; `rows` about as many as will come. */
export function Skeleton({ rows = 4, label = 'Loading' }: { rows?: number; label?: string }) {
  return (
    <div role="status" aria-label={label} className="animate-pulse space-y-2 py-1">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="h-8 rounded-md bg-hover" style={{ width: `${100 - ((row * 7) % 25)}%` }} />
      ))}
    </div>
  )
}
