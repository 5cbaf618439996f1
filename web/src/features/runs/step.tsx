import { type ReactNode, useId } from 'react'

/** A step of a run, such as its plan: a named region with the status beside its heading. */
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

/** Why a step has nothing to show; line breaks in the text are kept. */
export function Absence({ children }: { children: ReactNode }) {
  return <p className="text-sm whitespace-pre-line text-slate-600 dark:text-slate-400">{children}</p>
}
