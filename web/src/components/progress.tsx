type ProgressProps = {
  label: string
  done: number
  /** Undefined while unknown: the bar is then indeterminate. */
  total: number | undefined
  format?: (value: number) => string
}

/** A progress bar. Screen readers get its label as a status. */
export function Progress({ label, done, total, format = formatted }: ProgressProps) {
  return (
    <div className="space-y-1.5">
      <p className="flex flex-wrap justify-between gap-x-3 font-medium">
        <span role="status">{label}</span>
        <span className="numeric font-normal text-dim">
          {total === undefined ? done > 0 && format(done) : `${format(done)} of ${format(total)}`}
        </span>
      </p>
      <progress
        aria-label={label}
        max={total}
        value={total === undefined ? undefined : Math.min(done, total)}
        className="block h-2 w-full accent-accent"
      />
    </div>
  )
}

function formatted(value: number) {
  return value.toLocaleString('en')
}
