type Counts = {
  additions: number | null
  changes: number | null
  destructions: number | null
  imports?: number | null | undefined
}

/** Counts of a plan's changes, "+2 ~4 −0", read out in words. Renders nothing while unknown. */
export function PlanCounts({ counts }: { counts: Counts }) {
  const { additions, changes, destructions, imports } = counts
  if (additions === null || changes === null || destructions === null) return null
  const words = [
    `${additions} to create`,
    `${changes} to update`,
    `${destructions} to destroy`,
    ...(imports ? [`${imports} to import`] : []),
  ].join(', ')
  const quiet = 'text-dim'
  return (
    <span className="numeric inline-flex gap-1.5 font-mono text-[0.9285em] whitespace-nowrap" title={words}>
      <span className="sr-only">{words}</span>
      <span aria-hidden="true" className={additions > 0 ? 'text-good' : quiet}>
        +{additions}
      </span>
      <span aria-hidden="true" className={changes > 0 ? 'text-warn' : quiet}>
        ~{changes}
      </span>
      <span aria-hidden="true" className={destructions > 0 ? 'font-semibold text-bad' : quiet}>
        −{destructions}
      </span>
      {imports ? (
        <span aria-hidden="true" className="text-busy">
          ⇣{imports}
        </span>
      ) : null}
    </span>
  )
}
