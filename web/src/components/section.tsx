import { type ReactNode, useId } from 'react'

/** A part of a settings page. */
export function Section({ title, about, children }: { title: string; about?: ReactNode; children: ReactNode }) {
  const id = useId()
  return (
    <section
      aria-labelledby={id}
      className="mt-6 rounded-lg border border-slate-200 bg-white px-6 py-5 text-sm dark:border-slate-800 dark:bg-slate-900"
    >
      <h2 id={id} className="text-base font-medium">
        {title}
      </h2>
      {about !== undefined && <p className="mt-1 text-slate-500">{about}</p>}
      {children}
    </section>
  )
}
