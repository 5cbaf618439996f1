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
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={total === undefined ? undefined : Math.min(done, total)}
        className="h-1.5 overflow-hidden rounded-full bg-hover"
      >
        <div
          className={`h-full rounded-full bg-accent ${total === undefined ? 'w-1/3 animate-pulse' : ''}`}
          style={total === undefined ? undefined : { width: `${total === 0 ? 100 : (done / total) * 100}%` }}
        />
      </div>
    </div>
  )
}

function formatted(value: number) {
  return value.toLocaleString('en')
}
