/** A progress bar with its label, which screen readers get as a status; indeterminate without a `total`. */
export function Progress({ label, done, total }: { label: string; done: number; total: number | undefined }) {
  return (
    <div className="space-y-1.5">
      <p role="status" className="flex flex-wrap justify-between gap-x-3 font-medium">
        {label}
        <span className="numeric font-normal text-dim">
          {done.toLocaleString('en')}
          {total !== undefined && ` of ${total.toLocaleString('en')}`}
        </span>
      </p>
      <progress
        aria-label={label}
        max={total ?? undefined}
        value={total === undefined ? undefined : Math.min(done, total)}
        className="block h-2 w-full accent-accent"
      />
    </div>
  )
}
