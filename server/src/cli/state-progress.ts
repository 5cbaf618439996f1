import type { Progress } from './state-place.ts'

/** What progress is written to: a terminal gets a bar, anything else plain lines. */
export type ProgressOutput = { write: (text: string) => unknown; isTTY?: boolean; columns?: number }

const BAR = 24
/** Without a terminal, a long history still shows a sign of life every so many versions. */
const LINE_EVERY = 100

/** Shows how far a transfer is; `end` leaves the terminal on a line of its own. */
export function progressView(output: ProgressOutput) {
  let isOpen = false

  function bar(progress: Progress) {
    const { workspace, workspaceNumber, workspaces, done, versions } = progress
    const filled = versions === 0 ? BAR : Math.round((BAR * done) / versions)
    const text =
      `[${workspaceNumber}/${workspaces}] ${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ` +
      `${done}/${versions} ${workspace}  ${megabytes(progress.bytes)}`
    output.write(`\r\x1b[2K${text.slice(0, (output.columns ?? 80) - 1)}`)
    isOpen = true
  }

  function line({ workspace, workspaceNumber, workspaces, done, versions }: Progress) {
    if (done < versions && (done === 0 || done % LINE_EVERY !== 0)) return
    output.write(`[${workspaceNumber}/${workspaces}] ${workspace}: ${done} of ${versions} states\n`)
  }

  return {
    show: output.isTTY ? bar : line,
    end() {
      if (isOpen) output.write('\n')
      isOpen = false
    },
  }
}

export function megabytes(bytes: number) {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
