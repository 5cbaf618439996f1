import type { ReactNode } from 'react'
import { Mark, usePageTitle } from '../../components/page.tsx'

/** The layout of pages for visitors who are not signed in: a card in the centre. */
export function CardPage({ title, about, children }: { title: string; about?: ReactNode; children: ReactNode }) {
  usePageTitle(title)
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-8">
      <div className="w-full max-w-sm rounded-lg border border-line bg-paper p-6">
        <p className="flex items-center gap-2 font-semibold">
          <Mark />
          Groundstate
        </p>
        <h1 tabIndex={-1} className="mt-5 text-xl font-semibold tracking-tight wrap-anywhere">
          {title}
        </h1>
        {about !== undefined && <div className="mt-1 text-dim">{about}</div>}
        <div className="mt-5 space-y-4">{children}</div>
      </div>
    </main>
  )
}
