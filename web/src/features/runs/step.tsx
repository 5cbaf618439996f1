import { type ReactNode, useId } from 'react'

/** What a run goes through, its plan for one: a region by its name, with how it stands beside the heading. */
export function Step({ title, status, children }: { title: string; status: ReactNode; children?: ReactNode }) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="mt-8">
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <h2 id={id} className="font-medium">
          {title}
        </h2>
        {status}
      </div>
      {children}
    </section>
  )
}

/** Why there is nothing to show of a step; what others have told of it keeps its lines. */
export function Absence({ children }: { children: ReactNode }) {
  return <p className="text-sm whitespace-pre-line text-slate-600 dark:text-slate-400">{children}</p>
}
